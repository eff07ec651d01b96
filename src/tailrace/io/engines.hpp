#pragma once

#include <tailrace/io/types.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::io {

class Engine;
class Parameters;
struct OpenRequest;

/// All engines of this library, by name.
const std::vector<std::string> &engine_names();

/// The engine that wrote what lies at `path`, by what is there; "" when nothing is, or nothing known. Local.
std::string engine_at(const std::string &path);

/// What a caller, the environment and the path say about a new series. The call wins over the environment:
/// TAILRACE_ENGINE="hdf5", TAILRACE_PARAMETERS="sync=on, raw:aggregators=node". A parameter with an engine's name
/// before it is for that engine alone. Local.
struct Settings {
  std::string path; ///< without the "sst:" that names an engine
  std::string engine;
  std::map<std::string, std::string> parameters;
};
Settings resolve_settings(const std::string &path, Mode mode, const std::string &engine,
                          const std::map<std::string, std::string> &parameters);

/// Opens the engine of that name. Throws IoError when the place of a new series holds a series of another engine.
/// Collective; the same error on all ranks.
std::unique_ptr<Engine> open_engine(const std::string &name, const OpenRequest &request, const Parameters &parameters);

} // namespace tailrace::io
