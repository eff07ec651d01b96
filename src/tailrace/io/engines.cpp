#include <tailrace/io/engines.hpp>

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

using Opener = std::unique_ptr<Engine> (*)(const Target &, Parameters);

const std::map<std::string, Opener> &openers() {
  static const std::map<std::string, Opener> all{
      {"adios_hdf5",
       [](const Target &target, Parameters parameters) { return open_adios2("adios_hdf5", target, parameters); }},
      {"bp4", [](const Target &target, Parameters parameters) { return open_adios2("bp4", target, parameters); }},
      {"bp5", [](const Target &target, Parameters parameters) { return open_adios2("bp5", target, parameters); }},
      {"hdf5", open_hdf5},
      {"mpiio", open_mpiio},
      {"null", open_null},
      {"raw", open_raw},
      {"sion", open_sion},
      {"sst", open_sst},
  };
  return all;
}

/// The extensions of files and directories that mean an engine.
const std::map<std::string, std::string> &extensions() {
  static const std::map<std::string, std::string> all{
      {".bp", "bp5"},      {".bp4", "bp4"},   {".bp5", "bp5"},
      {".h5", "hdf5"},     {".hdf", "hdf5"},  {".hdf5", "hdf5"},
      {".vtkhdf", "hdf5"}, {".sion", "sion"}, {".adios_hdf5", "adios_hdf5"},
      {".sst", "sst"}};
  return all;
}

void check_engine(const std::string &name) {
  if (openers().count(name))
    return;
  const std::string near = nearest(name, engine_names());
  throw InputError(fmt::format("unknown engine '{}': expected one of {}{}", name, fmt::join(engine_names(), ", "),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

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

/// What TAILRACE_PARAMETERS says for an engine.
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
      check_engine(whose);
      if (whose != engine)
        continue;
      name = trimmed(name.substr(colon + 1));
    }
    result[name] = trimmed(entry.substr(equals + 1));
  }
  return result;
}

std::string engine_of_directory(const std::string &path) {
  std::ifstream header(fs::path(path) / "series.jsonl");
  std::string line;
  if (header && std::getline(header, line))
    for (const auto &name : engine_names())
      if (line.find(fmt::format("\"tailrace {} series\"", name)) != std::string::npos)
        return name;
  if (const int version = bp::version(path); version != 0)
    return fmt::format("bp{}", version);
  std::error_code ignored; // killed in its first step, a series has nothing but its name
  if (!fs::exists(fs::path(path) / "md.idx", ignored))
    return "";
  return fs::path(path).extension() == ".bp4" ? "bp4" : "bp5";
}

} // namespace

const std::vector<std::string> &engine_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto &[name, opener] : openers())
      result.push_back(name);
    return result;
  }();
  return names;
}

std::string engine_at(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return engine_of_directory(path);
  std::ifstream file(path, std::ios::binary);
  char start[8] = {};
  file.read(start, sizeof start);
  return file && std::string(start, 8) == "\x89HDF\r\n\x1a\n" ? "hdf5" : "";
}

void check_engine_there(const std::string &path, const std::vector<std::string> &ours) {
  const std::string there = engine_at(path);
  if (!there.empty() && std::find(ours.begin(), ours.end(), there) == ours.end())
    throw IoError(fmt::format("cannot write {}: it holds a series of the engine {}; expected one of {}, or none. To "
                              "fix this, name the other engine, write elsewhere, or remove it",
                              path, there, fmt::join(ours, " or ")));
}

std::string engine_for(const std::string &path) {
  if (path.rfind("sst:", 0) == 0)
    return "sst";
  const std::string extension = fs::path(path).extension().string();
  if (const auto found = extensions().find(extension); found != extensions().end())
    return found->second;
  std::error_code ignored;
  if (extension.empty() || path.back() == '/' || fs::is_directory(path, ignored))
    return "raw";
  std::vector<std::string> known;
  for (const auto &[name, engine] : extensions())
    known.push_back(fmt::format("{} ({})", name, engine));
  throw InputError(
      fmt::format("'{}': no engine goes by the extension '{}'. To fix this, name the engine, or use {}, or "
                  "a directory (raw)",
                  path, extension, fmt::join(known, ", ")));
}

Settings settle_settings(const std::string &path, Mode mode, const std::string &engine,
                         const std::map<std::string, std::string> &parameters) {
  Settings result{path, engine, {}};
  if (path.rfind("sst:", 0) == 0)
    result.path = path.substr(4);
  if (result.engine.empty() && mode != Mode::write && path == result.path)
    result.engine = engine_at(path); // what is there is what it is, whatever its name
  if (result.engine.empty() && mode != Mode::read)
    result.engine = variable_of_environment("TAILRACE_ENGINE");
  if (result.engine.empty())
    result.engine = engine_for(path);
  check_engine(result.engine);
  result.parameters = environment_parameters(result.engine);
  for (const auto &[name, value] : parameters)
    result.parameters[name] = value;
  return result;
}

std::unique_ptr<Engine> open_engine(const std::string &name, const Target &target, const Parameters &parameters) {
  return openers().at(name)(target, parameters);
}

} // namespace tailrace::io
