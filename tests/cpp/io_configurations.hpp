#pragma once

#include <map>
#include <string>
#include <vector>

namespace tailrace {

/// An engine and how it is told to work. The suites of input and output run on each of them, by name.
struct IoConfiguration {
  std::string engine;
  std::map<std::string, std::string> parameters;
};

inline const IoConfiguration &io_configuration(const std::string &name) {
  static const std::map<std::string, IoConfiguration> all{
      {"raw", {"raw", {}}},
      {"raw_dist", {"raw", {{"strategy", "dist"}}}},
      {"raw_node", {"raw", {{"strategy", "node"}}}},
      {"raw_collect", {"raw", {{"strategy", "collect"}}}},
      {"raw_collect_xy", {"raw", {{"strategy", "collect_xy"}}}},
      {"raw_two", {"raw", {{"aggregators", "2"}, {"layout", "files"}}}},
      {"raw_plane_files", {"raw", {{"aggregators", "plane"}, {"layout", "files"}}}},
      {"mpiio", {"mpiio", {}}},
      {"mpiio_collective", {"mpiio", {{"transfer", "collective"}}}},
      {"hdf5", {"hdf5", {}}},
      {"adios_hdf5", {"adios_hdf5", {}}},
      {"bp4", {"bp4", {}}},
      {"bp5", {"bp5", {}}},
      {"sion", {"sion", {}}},
  };
  return all.at(name);
}

/// The end of a path that goes with an engine.
inline std::string io_suffix(const std::string &engine) {
  static const std::map<std::string, std::string> all{
      {"adios_hdf5", ".adios_hdf5"}, {"bp4", ".bp4"}, {"bp5", ".bp"}, {"hdf5", ".vtkhdf"}, {"sion", ".sion"}};
  return all.count(engine) ? all.at(engine) : "";
}

} // namespace tailrace
