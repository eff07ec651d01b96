#include <tailrace/io/storage/files.hpp>

#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;
constexpr int most_drafts = 1000; ///< of one file, of programs that were killed

fs::path parent_of(const std::string &path) {
  fs::path clean = fs::path(path).lexically_normal();
  if (!clean.has_filename()) // "run/" is the directory "run"
    clean = clean.parent_path();
  return clean.has_parent_path() ? clean.parent_path() : fs::path(".");
}

/// Whether an error means that there is nothing, or nothing that this user may see.
bool means_nothing(int code) {
  return code == ENOENT || code == ENOTDIR || code == EACCES || code == ELOOP || code == ENAMETOOLONG;
}

/// What the system says of a path; empty if there is nothing, or nothing that this user may see.
std::optional<struct stat> look(const std::string &path, bool follow) {
  struct stat found{};
  if ((follow ? ::stat : ::lstat)(path.c_str(), &found) == 0)
    return found;
  if (means_nothing(errno))
    return std::nullopt;
  throw file_error("examine", path, errno);
}

} // namespace

bool is_directory(const std::string &path) {
  const auto found = look(path, true);
  return found && S_ISDIR(found->st_mode);
}

bool is_there(const std::string &path) { return look(path, false).has_value(); }

bool is_link(const std::string &path) {
  const auto found = look(path, false);
  return found && S_ISLNK(found->st_mode);
}

bool is_regular(const std::string &path) {
  const auto found = look(path, false);
  return found && S_ISREG(found->st_mode);
}

std::optional<std::int64_t> bytes_of(const std::string &path) {
  const auto found = look(path, true);
  return found ? std::optional<std::int64_t>(found->st_size) : std::nullopt;
}

void check_target(const std::string &path, Mode mode, Kind kind) {
  const bool there = bytes_of(path).has_value(), directory = is_directory(path);
  if (mode == Mode::read && !there)
    throw IoError(fmt::format("cannot read {}: it does not exist", path));
  refuse_special(path);
  if (there && directory != (kind == Kind::directory))
    throw IoError(fmt::format("cannot {} {}: it is a {}, and this engine keeps a series in a {}",
                              mode == Mode::read ? "read" : "write", path, directory ? "directory" : "file",
                              directory ? "file" : "directory"));
  if (mode == Mode::read)
    return;
  const fs::path parent = parent_of(path);
  std::error_code why;
  const bool is_one = fs::is_directory(parent, why);
  if (why == std::errc::no_such_file_or_directory || why == std::errc::not_a_directory || (!why && !is_one))
    throw IoError(fmt::format("cannot write {}: the directory {} does not exist", path, parent.string()));
  if (::faccessat(AT_FDCWD, (there ? path : parent.string()).c_str(), W_OK, AT_EACCESS) != 0)
    throw file_error("write", path, errno);
}

void write_all(int fd, const void *data, std::int64_t size, std::int64_t offset, const std::string &path) {
  const char *from = static_cast<const char *>(data);
  while (size > 0) {
    const ssize_t done = ::pwrite(fd, from, static_cast<std::size_t>(size), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      throw file_error("write", path, done < 0 ? errno : EIO);
    from += done, size -= done, offset += done;
  }
}

std::size_t read_some(int fd, void *data, std::size_t size, std::int64_t offset, const std::string &path) {
  ssize_t done = -1;
  do
    done = ::pread(fd, data, size, offset);
  while (done < 0 && errno == EINTR);
  if (done < 0)
    throw file_error("read", path, errno);
  return static_cast<std::size_t>(done);
}

std::string start_of(const std::string &path, std::size_t size) {
  refuse_special(path);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file && means_nothing(errno))
    return "";
  if (!file)
    throw file_error("open", path, errno);
  if (is_directory(path))
    return "";
  std::string text(size, '\0');
  text.resize(read_some(file.get(), text.data(), size, 0, path));
  return text;
}

bool has_zeros_from(const FileDescriptor &file, std::int64_t begin, const std::string &path) {
  std::vector<char> piece(read_bytes);
  while (const std::size_t size = read_some(file.get(), piece.data(), piece.size(), begin, path)) {
    if (std::any_of(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size), [](char c) { return c != 0; }))
      return false;
    begin += static_cast<std::int64_t>(size);
  }
  return true;
}

void read_all(int fd, void *data, std::int64_t size, std::int64_t offset, const std::string &path) {
  char *to = static_cast<char *>(data);
  while (size > 0) {
    const auto done = static_cast<std::int64_t>(read_some(fd, to, static_cast<std::size_t>(size), offset, path));
    if (done == 0)
      throw IoError(fmt::format("cannot read {}: the file ends {} bytes too early", path, size));
    to += done, size -= done, offset += done;
  }
}

void sync_path(const std::string &path) {
  const FileDescriptor file(path, O_RDONLY);
  if (::fsync(file.get()) != 0)
    throw file_error("sync", path, errno);
}

void sync_parent(const std::string &path) { sync_path(parent_of(path).string()); }

NewFile create_draft(const std::string &path, int mode) {
  for (int number = 1;; ++number) { // what has one of the names may be another program's, so that it stays
    const std::string name = path + ".tmp" + (number == 1 ? "" : std::to_string(number));
    FileDescriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file)
      return {name, std::move(file)};
    if (errno != EEXIST || number == most_drafts)
      throw file_error("create", name, errno);
  }
}

bool is_draft_of(const std::string &name, const std::string &path) {
  const std::string start = path + ".tmp";
  return name.rfind(start, 0) == 0 && name.find_first_not_of("0123456789", start.size()) == std::string::npos;
}

FileDescriptor replace_file(const std::string &path, const std::string &text, bool sync, int mode) {
  auto [draft, file] = create_draft(path, mode);
  try {
    write_all(file.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, draft);
    // Only a power cut needs fsync, a killed program does not; and on ext4 it may wait for the data of all programs.
    if (sync && ::fsync(file.get()) != 0)
      throw file_error("sync", draft, errno);
    if (std::rename(draft.c_str(), path.c_str()) != 0)
      throw file_error("write", path, errno);
  } catch (...) {
    ::unlink(draft.c_str());
    throw;
  }
  if (sync)
    sync_parent(path);
  return std::move(file);
}

std::string read_file(const std::string &path) { return read_file(FileDescriptor(path, O_RDONLY), path); }

std::string read_file(const FileDescriptor &file, const std::string &path) {
  std::string text;
  for (std::size_t size = 0, done = 1; done > 0; size += done) { // to its end, because another program may extend it
    text.resize(size + std::max<std::size_t>(size, read_bytes));
    done = read_some(file.get(), text.data() + size, text.size() - size, static_cast<std::int64_t>(size), path);
    text.resize(size + done);
  }
  return text;
}

bool settled(const struct stat &file) {
  struct timespec now = {};
  return ::clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - file.st_mtim.tv_sec > 3;
}

} // namespace tailrace::io
