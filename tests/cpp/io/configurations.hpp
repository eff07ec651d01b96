#pragma once

#include <tailrace/io/engine_traits.hpp>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace tailrace {

/// Whether this Tailrace has the library of an engine.
inline bool is_built(const std::string &engine) {
  if (io::engine_traits(engine).library != "ADIOS2")
    return true;
  return TAILRACE_HAVE_ADIOS2 && (TAILRACE_ADIOS2_HAS_HDF5 || engine != "adios_hdf5"); // engine: ADIOS2's own with HDF5
}

/// An engine and its parameters. The tests of input and output run with each configuration and refer to its name.
struct IoConfiguration {
  std::string engine;
  std::map<std::string, std::string> parameters;
  /// The most collective calls of begin_step, a write and end_step on four ranks; none with `buffers`.
  std::array<int, 3> collective_calls{};
};

/// All of them, but for those of engines whose library this Tailrace was built without.
inline const std::map<std::string, IoConfiguration> &io_configurations() {
  static const std::map<std::string, IoConfiguration> all = [] {
    std::map<std::string, IoConfiguration> known{
        {"raw", {"raw", {}, {1, 3, 5}}},
        {"raw_dist", {"raw", {{"strategy", "dist"}}, {1, 2, 7}}},
        {"raw_node", {"raw", {{"strategy", "node"}}, {1, 5, 7}}},
        {"raw_collect", {"raw", {{"strategy", "collect"}}, {1, 3, 5}}},
        {"raw_collect_xy", {"raw", {{"strategy", "collect_xy"}}, {1, 4, 5}}},
        {"raw_node_table", {"raw", {{"strategy", "node"}, {"blocks", "table"}}, {1, 5, 7}}},
        {"sion_table", {"sion", {{"blocks", "table"}}, {1, 2, 11}}},
        {"raw_two", {"raw", {{"aggregators", "2"}, {"layout", "files"}}, {1, 5, 7}}},
        {"raw_plane_files", {"raw", {{"aggregators", "plane"}, {"layout", "files"}}, {1, 3, 7}}},
        {"mpiio", {"mpiio", {{"collect_bytes", "0"}}, {1, 6, 5}}},
        {"mpiio_collective", {"mpiio", {{"transfer", "collective"}, {"collect_bytes", "0"}}, {1, 11, 5}}},
        {"mpiio_small", {"mpiio", {}, {1, 4, 5}}}, // rank 0 writes small arrays for all ranks
        {"raw_background", {"raw", {{"buffers", "2"}}}},
        {"hdf5", {"hdf5", {}, {2, 3, 4}}},
        {"hdf5_gzip", {"hdf5", {{"compression", "gzip"}, {"chunk_bytes", "5000"}}, {2, 12, 4}}},
        {"hdf5_table", {"hdf5", {{"blocks", "table"}}, {2, 3, 4}}},
        {"hdf5_background", {"hdf5", {{"buffers", "2"}}}},
        {"bp5_background", {"bp5", {{"buffers", "2"}}}},
        {"sion_files", {"sion", {{"files", "3"}, {"chunk_bytes", "1000"}, {"block_bytes", "512"}}, {1, 2, 11}}},
        {"adios_hdf5", {"adios_hdf5", {}, {9, 3, 17}}},
        {"bp4", {"bp4", {}, {2, 2, 7}}},
        {"bp4_one_buffer", {"bp4", {{"buffers", "1"}}}}, // ADIOS2 itself stores this copy
        {"bp5", {"bp5", {}, {2, 2, 8}}},
        {"sion", {"sion", {}, {1, 2, 11}}},
    };
    std::erase_if(known, [](const auto &one) { return !is_built(one.second.engine); });
    return known;
  }();
  return all;
}

/// Those of these names that are there.
inline std::vector<std::string> io_built(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string &name) { return io_configurations().count(name) == 0; });
  return names;
}

inline const IoConfiguration &io_configuration(const std::string &name) { return io_configurations().at(name); }

inline std::vector<std::string> io_configuration_names() {
  std::vector<std::string> names;
  for (const auto &[name, configuration] : io_configurations())
    names.push_back(name);
  return names;
}

/// The file suffix of an engine.
inline std::string io_suffix(const std::string &engine) {
  static const std::map<std::string, std::string> all{
      {"adios_hdf5", ".adios_hdf5"}, {"bp4", ".bp4"}, {"bp5", ".bp"}, {"hdf5", ".vtkhdf"}, {"sion", ".sion"}};
  return all.count(engine) ? all.at(engine) : "";
}

} // namespace tailrace
