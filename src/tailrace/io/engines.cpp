#include <tailrace/io/engines.hpp>

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/file_lock.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t first_bytes = 65536; ///< among which an HDF5 series of ours has the entry of our group
constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n", group_entry = "\x08Tailrace"; ///< with its length
constexpr std::size_t header_bytes = 4096; ///< the first line of series.jsonl names the engine before all long entries

// The table of engines. ENGINE(name, family, extensions): the function open_NAME in the engine's folder opens it. A new
// series may replace only a series of the same family; engines of the family "none" store nothing at the path. The
// extensions of files and directories select the engine.
#define TAILRACE_ENGINES(ENGINE)                                                                                       \
  ENGINE(adios_hdf5, "adios_hdf5", ".adios_hdf5")                                                                      \
  ENGINE(bp4, "bp", ".bp4")                                                                                            \
  ENGINE(bp5, "bp", ".bp .bp5")                                                                                        \
  ENGINE(hdf5, "hdf5", ".h5 .hdf .hdf5 .vtkhdf")                                                                       \
  ENGINE(mpiio, "mpiio", "")                                                                                           \
  ENGINE(null, "none", "")                                                                                             \
  ENGINE(raw, "raw", "")                                                                                               \
  ENGINE(sion, "sion", ".sion")                                                                                        \
  ENGINE(sst, "none", ".sst")

} // namespace

// Each function takes the engine's parameters and opens it. Collective; throws the same error on all ranks.
#define TAILRACE_DECLARE(name, family, extensions)                                                                     \
  std::unique_ptr<Engine> open_##name(const OpenRequest &request, Parameters parameters);
TAILRACE_ENGINES(TAILRACE_DECLARE)
#undef TAILRACE_DECLARE

namespace {

struct EngineEntry {
  std::unique_ptr<Engine> (*open)(const OpenRequest &, Parameters);
  std::string family;
};

const std::map<std::string, EngineEntry> &engines() {
#define TAILRACE_ENTRY(name, family, extensions) {#name, {open_##name, family}},
  static const std::map<std::string, EngineEntry> all{TAILRACE_ENGINES(TAILRACE_ENTRY)};
#undef TAILRACE_ENTRY
  return all;
}

/// The engine for each extension.
const std::map<std::string, std::string> &extensions() {
#define TAILRACE_EXTENSIONS(name, family, extensions) {#name, extensions},
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> result;
    for (const auto &[engine, own] : std::map<std::string, std::string>{TAILRACE_ENGINES(TAILRACE_EXTENSIONS)}) {
      std::istringstream words(own);
      for (std::string extension; words >> extension;)
        result[extension] = engine;
    }
    return result;
  }();
#undef TAILRACE_EXTENSIONS
  return all;
}

void check_engine(const std::string &name) {
  if (engines().count(name))
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
      check_engine(whose);
      if (whose != engine)
        continue;
      name = trimmed(name.substr(colon + 1));
    }
    result[name] = trimmed(entry.substr(equals + 1));
  }
  return result;
}

/// The first bytes of a file, at most `size`; empty if it does not exist or cannot be read. Throws IoError if it is no
/// file: opening it again in another way could wait forever.
std::string start_of(const std::string &path, std::size_t size) {
  refuse_special(path);
  std::string text(size, '\0');
  try {
    text.resize(read_some(FileDescriptor(path, O_RDONLY).get(), text.data(), size, 0, path));
  } catch (const IoError &) {
    text.clear();
  }
  return text;
}

std::string engine_of_directory(const std::string &path) {
  const std::string header = start_of((fs::path(path) / "series.jsonl").string(), header_bytes);
  const std::string line = header.substr(0, header.find('\n'));
  for (const auto &name : engine_names())
    if (line.find(fmt::format("\"tailrace {} series\"", name)) != std::string::npos)
      return name;
  if (const int version = bp::version(path); version != 0)
    return fmt::format("bp{}", version);
  std::error_code ignored; // a series that was killed in its first step has only its name
  if (!fs::exists(fs::path(path) / "md.idx", ignored))
    return "";
  return fs::path(path).extension() == ".bp4" ? "bp4" : "bp5";
}

} // namespace

const std::vector<std::string> &engine_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto &[name, entry] : engines())
      result.push_back(name);
    return result;
  }();
  return names;
}

std::string engine_at(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return engine_of_directory(path);
  return start_of(path, hdf5_signature.size()) == hdf5_signature ? "hdf5" : "";
}

bool is_foreign_file(const std::string &path) {
  const std::string start = start_of(path, first_bytes); // empty for a directory too
  if (start.empty() || (start.starts_with(hdf5_signature) && start.find(group_entry) != std::string::npos))
    return false;
  const std::size_t written = start.find_last_not_of('\0') + 1;
  return !hdf5_signature.starts_with(start.substr(0, written)) ||
         !has_zeros_from(FileDescriptor(path, O_RDONLY), static_cast<std::int64_t>(written), path);
}

bool metadata_vouched(const std::string &path) { return bp_record_covers(path); }

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

Settings resolve_settings(const std::string &path, Mode mode, const std::string &engine,
                          const std::map<std::string, std::string> &parameters) {
  Settings result{path, engine, {}};
  if (path.rfind("sst:", 0) == 0)
    result.path = path.substr(4);
  if (result.engine.empty() && mode != Mode::write && path == result.path)
    result.engine = engine_at(path); // the files decide, not the name
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

namespace {

/// Throws IoError if a new series would replace a series of another family: neither family knows the other's files, and
/// remaining files could be taken for the wrong series. Throws it too for a file of another program. Local.
void check_family(const std::string &path, Mode mode, const std::string &family) {
  if (family == "hdf5" && mode == Mode::write && is_foreign_file(path))
    throw IoError(fmt::format("cannot write {}: it is there already, and is no series of Tailrace. To fix this, write "
                              "elsewhere, or move it away",
                              path));
  const std::string there = family == "none" ? "" : engine_at(path);
  if (there.empty() || engines().at(there).family == family)
    return;
  std::vector<std::string> ours;
  for (const auto &[name, entry] : engines())
    if (entry.family == family)
      ours.push_back(name);
  throw IoError(fmt::format("cannot write {}: it holds a series of the engine {}; expected one of {}, or none. To "
                            "fix this, name the other engine, write elsewhere, or remove it",
                            path, there, fmt::join(ours, " or ")));
}

/// Whether there is a series with a complete step. Local.
bool has_steps_at(const std::string &path) {
  try {
    const std::string engine = engine_at(path);
    if (engine.empty())
      return false;
    Trace trace;
    Notes notes;
    const OpenRequest request{path, Mode::read, false, Communicator(MPI_COMM_SELF), {}, {}, false, false,
                              {},   &trace,     &notes};
    return !engines().at(engine).open(request, Parameters({}))->steps().empty();
  } catch (const Error &) { // of a first step that was not completed
    return false;
  }
}

/// Throws IoError if there is anything at the path but an empty directory. Local.
void check_free(const std::string &path) {
  const fs::file_status status = fs::symlink_status(path);
  if (fs::exists(status) && !(fs::is_directory(status) && fs::is_empty(path)))
    throw IoError(fmt::format("cannot write {}: it is there already, and the mode is \"x\". To fix this, write "
                              "elsewhere, or replace it by the mode \"w\"",
                              path));
}

} // namespace

std::unique_ptr<Engine> open_engine(const std::string &name, const OpenRequest &request, const Parameters &parameters,
                                    std::optional<FileLock> &lock, std::optional<ReplacedSeries> &replaced) {
  const EngineEntry &entry = engines().at(name);
  OpenRequest own = request;
  if (request.mode != Mode::read)
    request.comm.from_root([&] {
      check_family(request.path, request.mode, entry.family);
      if (entry.family == "none")
        return std::string();
      lock.emplace(request.path);
      replaced.emplace(request.path, request.sync);
      replaced->remove_draft();
      if (replaced->is_there()) {
        replaced->finish([&] { return has_steps_at(request.path); });
        check_family(request.path, request.mode, entry.family);
      }
      if (request.mode == Mode::write)
        own.replaced = &*replaced;
      if (request.exclusive)
        check_free(request.path);
      if (!lock->note().empty())
        request.notes->push_back(lock->note());
      return std::string();
    });
  try {
    return entry.open(own, parameters);
  } catch (const IoError &error) {
    if (replaced && request.comm.size() == 1)
      replaced->put_back();
    const std::string aside = request.mode == Mode::write ? ReplacedSeries::told(request.path) : "";
    throw IoError(aside.empty() ? error.what() : fmt::format("{}; {}", error.what(), aside));
  }
}

void finish_replacing(const std::string &path) {
  if (!ReplacedSeries(path).is_there())
    return;
  const FileLock lock(path);
  ReplacedSeries(path).finish([&] { return has_steps_at(path); });
}

} // namespace tailrace::io
