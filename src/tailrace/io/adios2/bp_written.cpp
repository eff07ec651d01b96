#include <tailrace/io/adios2/bp_written.hpp>

#include <tailrace/io/adios2/bp_metadata.hpp>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

extern "C" __attribute__((weak)) void tailrace_adios2_on_write(void (*wrote)(const char *name, const void *data,
                                                                             std::size_t size, std::size_t start));

namespace tailrace::io {

namespace {

std::mutex watched_mutex;

std::map<std::string, BpWritten *> &watched() {
  static auto &files = *new std::map<std::string, BpWritten *>; // as long as the process: threads of ADIOS2 may write
  return files;
}

} // namespace

BpWritten::BpWritten(std::string path, const RunningChecksum &sum, std::int64_t bytes)
    : path_(std::move(path)), sum_(sum), bytes_(bytes) {
  const std::lock_guard lock(watched_mutex);
  watched()[path_] = this;
  if (tailrace_adios2_on_write != nullptr)
    tailrace_adios2_on_write(on_write);
}

BpWritten::~BpWritten() {
  const std::lock_guard lock(watched_mutex);
  if (const auto found = watched().find(path_); found != watched().end() && found->second == this)
    watched().erase(found);
}

std::optional<BpWritten::Told> BpWritten::told() const {
  const std::lock_guard lock(watched_mutex);
  return any_ && in_order_ ? std::optional(Told{sum_.text(), bytes_}) : std::nullopt;
}

/// ADIOS2 calls this before it writes.
void BpWritten::on_write(const char *name, const void *data, std::size_t size, std::size_t start) {
  const std::lock_guard lock(watched_mutex);
  if (const auto found = watched().find(name); found != watched().end())
    found->second->add(static_cast<const char *>(data), static_cast<std::int64_t>(size),
                       static_cast<std::int64_t>(start));
}

void BpWritten::add(const char *data, std::int64_t size, std::int64_t start) {
  any_ = true;
  if (start < bytes_ && is_active_flag(start, size))
    return;
  if (start == 0) { // it begins the file again
    sum_ = RunningChecksum();
    bytes_ = 0;
  }
  in_order_ = in_order_ && start == bytes_;
  add_metadata(sum_, std::filesystem::path(path_).filename().string(), data, size, start);
  bytes_ += size;
}

} // namespace tailrace::io
