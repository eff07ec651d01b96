#include <tailrace/io/opening/open_engine.hpp>

#include <tailrace/io/engine/engines.hpp>
#include <tailrace/io/opening/first_step.hpp>
#include <tailrace/io/recognition.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_lock.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

/// Throws IoError if a new series would replace a series of another family: neither family knows the other's files, and
/// remaining files could be taken for the wrong series. Throws it too for a file of another program. Local.
void check_family(const std::string &path, Mode mode, const EngineEntry &entry) {
  if (entry.is_foreign && mode == Mode::write && entry.is_foreign(path))
    throw IoError(fmt::format("cannot write {}: it is there already, and is no series of Tailrace. To fix this, write "
                              "elsewhere, or move it away",
                              path));
  const std::string there = entry.traits.stores ? engine_at(path) : "";
  if (there.empty() || engine_traits(there).family == entry.traits.family)
    return;
  std::vector<std::string> ours;
  for (const EngineEntry &each : engine_entries())
    if (each.traits.family == entry.traits.family)
      ours.push_back(each.traits.name);
  throw IoError(fmt::format("cannot write {}: it holds a series of the engine {}; expected one of {}, or none. To "
                            "fix this, name the other engine, write elsewhere, or remove it",
                            path, there, fmt::join(ours, " or ")));
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
  const EngineEntry &entry = engine_entry(name);
  OpenRequest own = request;
  if (request.mode != Mode::read)
    request.comm.from_root([&] {
      check_family(request.path, request.mode, entry);
      if (!entry.traits.stores)
        return std::string();
      lock.emplace(request.path);
      replaced.emplace(request.path, request.sync);
      replaced->remove_draft();
      if (replaced->is_there()) {
        replaced->finish([&] { return has_first_step(request.path); });
        check_family(request.path, request.mode, entry);
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
      replaced->put_back_if_possible();
    const std::string aside = request.mode == Mode::write ? ReplacedSeries::told(request.path) : "";
    throw IoError(aside.empty() ? error.what() : fmt::format("{}; {}", error.what(), aside));
  }
}

void finish_replacing(const std::string &path) {
  if (!ReplacedSeries(path).is_there())
    return;
  const FileLock lock(path);
  ReplacedSeries(path).finish([&] { return has_first_step(path); });
}

} // namespace tailrace::io
