#include <tailrace/io/opening/settings.hpp>

#include <tailrace/io/engine/engines.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr const char *of_directories = "raw"; ///< the engine of paths without an extension

std::string trimmed(const std::string &text) {
  const auto space = [](unsigned char c) { return std::isspace(c); };
  const auto begin = std::find_if_not(text.begin(), text.end(), space);
  const auto end = std::find_if_not(text.rbegin(), std::make_reverse_iterator(begin), space).base();
  return {begin, end};
}

std::string variable_of_environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? trimmed(value) : "";
}

/// The parameters for an engine in TAILRACE_PARAMETERS.
std::map<std::string, std::string> environment_parameters(const std::string &engine) {
  std::map<std::string, std::string> result;
  std::istringstream entries(variable_of_environment("TAILRACE_PARAMETERS"));
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (trimmed(entry).empty())
      continue;
    const auto equals = entry.find('=');
    std::string name = trimmed(entry.substr(0, equals));
    if (equals == std::string::npos || name.empty())
      throw InputError(fmt::format("TAILRACE_PARAMETERS: '{}': expected name=value or engine:name=value, with commas "
                                   "between them",
                                   trimmed(entry)));
    if (const auto colon = name.find(':'); colon != std::string::npos) {
      const std::string whose = trimmed(name.substr(0, colon));
      engine_entry(whose); // throws for an unknown name
      if (whose != engine)
        continue;
      name = trimmed(name.substr(colon + 1));
    }
    result[name] = trimmed(entry.substr(equals + 1));
  }
  return result;
}

/// The engine of a stream, if the path names one ("sst:NAME"); else "".
std::string stream_engine(const std::string &path) {
  for (const EngineEntry &entry : engine_entries())
    if (entry.traits.streams && path.starts_with(entry.traits.name + ":"))
      return entry.traits.name;
  return "";
}

/// The engine for a path without one, by its extension.
std::string engine_for(const std::string &path) {
  const std::string extension = fs::path(path).extension().string();
  std::vector<std::string> known;
  for (const EngineEntry &entry : engine_entries())
    for (const std::string &each : entry.traits.extensions) {
      if (each == extension)
        return entry.traits.name;
      known.push_back(fmt::format("{} ({})", each, entry.traits.name));
    }
  if (extension.empty() || path.back() == '/' || is_directory(path))
    return of_directories;
  std::sort(known.begin(), known.end());
  throw InputError(
      fmt::format("'{}': no engine goes by the extension '{}'. To fix this, name the engine, or use {}, or "
                  "a directory ({})",
                  path, extension, fmt::join(known, ", "), of_directories));
}

} // namespace

Settings resolve_settings(const std::string &path, Mode mode, const std::string &engine,
                          const std::map<std::string, std::string> &parameters, const std::string &there) {
  Settings result{path, engine, {}};
  const std::string stream = stream_engine(path);
  if (!stream.empty())
    result.path = path.substr(stream.size() + 1);
  if (result.engine.empty() && mode != Mode::write && stream.empty())
    result.engine = there; // the files decide, not the name
  if (result.engine.empty() && mode != Mode::read)
    result.engine = variable_of_environment("TAILRACE_ENGINE");
  if (result.engine.empty())
    result.engine = stream.empty() ? engine_for(path) : stream;
  result.parameters = environment_parameters(engine_entry(result.engine).traits.name);
  for (const auto &[name, value] : parameters)
    result.parameters[name] = value;
  return result;
}

} // namespace tailrace::io
