#include <tailrace/io/storage/own_files.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace tailrace::io {

OwnFiles::Seen OwnFiles::look(const std::string &path, State state) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0)
    return {state, 0, 0, -1, errno};
  return seen(state, found);
}

OwnFiles::Seen OwnFiles::seen(State state, const struct stat &found) {
  return {state, found.st_dev, found.st_ino, found.st_size, 0};
}

void OwnFiles::note(const std::string &path, State state) { files_[path] = look(path, state); }

void OwnFiles::note(const std::string &path, const FileDescriptor &file) {
  struct stat found{};
  if (::fstat(file.get(), &found) != 0)
    throw file_error("examine", path, errno);
  files_[path] = seen(State::open, found);
}

void OwnFiles::grew(const std::string &path, std::int64_t bytes) noexcept {
  if (const auto found = files_.find(path); found != files_.end())
    found->second.bytes = bytes;
}

void OwnFiles::check() const {
  for (const auto &[path, noted] : files_) {
    const Seen now = look(path, noted.state);
    std::string what;
    if (const int code = now.error != 0 ? now.error : noted.error; code != 0)
      what = code == ENOENT ? "it was removed" : std::strerror(code);
    else if (noted.state == State::open && (now.device != noted.device || now.number != noted.number))
      what = "it was replaced by another file";
    else if (now.bytes < noted.bytes)
      what = fmt::format("it was cut from {} to {} bytes", noted.bytes, now.bytes);
    if (!what.empty())
      throw IoError(fmt::format("cannot write {}: {} while this program was writing it, so that what it wrote there is "
                                "lost. To fix this, let no other program change the files of a series that is being "
                                "written",
                                path, what));
  }
}

} // namespace tailrace::io
