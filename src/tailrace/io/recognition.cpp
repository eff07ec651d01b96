#include <tailrace/io/recognition.hpp>

#include <tailrace/io/engine/engines.hpp>
#include <tailrace/io/storage/files.hpp>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t start_bytes = 4096; ///< the first line of series.jsonl names the engine before all long entries

const EngineEntry *entry_at(const std::string &path) {
  Start start{is_directory(path), {}};
  start.text = start_of(start.directory ? (fs::path(path) / "series.jsonl").string() : path, start_bytes);
  for (const EngineEntry &entry : engine_entries())
    if (entry.wrote && entry.wrote(path, start))
      return &entry;
  return nullptr;
}

} // namespace

std::string engine_at(const std::string &path) {
  const EngineEntry *entry = entry_at(path);
  return entry ? entry->traits.name : "";
}

bool is_series(const std::string &path) {
  const EngineEntry *entry = entry_at(path);
  return entry && (!entry->is_ours || entry->is_ours(path));
}

bool is_foreign_file(const std::string &path) {
  const auto &entries = engine_entries();
  return std::all_of(entries.begin(), entries.end(),
                     [&](const EngineEntry &entry) { return !entry.is_foreign || entry.is_foreign(path); });
}

bool metadata_vouched(const std::string &path, const std::string &engine) {
  for (const EngineEntry &entry : engine_entries())
    if (entry.traits.name == engine)
      return !entry.vouched || entry.vouched(path);
  return true;
}

} // namespace tailrace::io
