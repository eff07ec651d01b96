#pragma once

#include <tailrace/io/types.hpp>

#include <map>
#include <string>

namespace tailrace::io {

/// Settings of a series from the caller, the environment and the path. The caller's settings override the environment:
/// TAILRACE_ENGINE="hdf5", TAILRACE_PARAMETERS="sync=on, raw:aggregators=node". A parameter with an engine's name as a
/// prefix is for that engine only.
struct Settings {
  std::string path; ///< without the "sst:" that names an engine
  std::string engine;
  std::map<std::string, std::string> parameters;
};

/// `there`: the engine of the series at the path, if there is one. Throws InputError for an unknown engine or a wrong
/// variable of the environment. Local.
Settings resolve_settings(const std::string &path, Mode mode, const std::string &engine,
                          const std::map<std::string, std::string> &parameters, const std::string &there);

} // namespace tailrace::io
