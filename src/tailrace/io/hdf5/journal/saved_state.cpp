#include <tailrace/io/hdf5/journal/saved_state.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tailrace::io {

namespace {

constexpr std::size_t head_bytes = 2 * sizeof(std::int64_t); // of a piece: offset and size

std::size_t size_of(std::int64_t value) { return static_cast<std::size_t>(value); }

} // namespace

std::string SavedState::encoded() const {
  std::string text;
  for (const auto &[offset, piece] : pieces) {
    const std::int64_t head[2] = {offset, static_cast<std::int64_t>(piece.before.size())};
    text.append(reinterpret_cast<const char *>(head), head_bytes);
    text.append(piece.before.data(), piece.before.size());
    text.append(piece.after.data(), piece.after.size());
  }
  return text;
}

SavedState SavedState::decoded(std::string_view text, std::int64_t end) {
  SavedState state{end, {}};
  for (std::int64_t free = 0; !text.empty();) {
    std::int64_t head[2] = {-1, 0};
    if (text.size() >= head_bytes)
      std::memcpy(head, text.data(), head_bytes);
    const auto [offset, size] = head;
    if (offset < free || offset > end || size <= 0 || size > end - offset ||
        size_of(size) > (text.size() - head_bytes) / 2)
      throw IoError("it saves bytes that lie outside the file");
    const char *const bytes = text.data() + head_bytes;
    state.pieces[offset] = {{bytes, bytes + size}, {bytes + size, bytes + 2 * size}};
    text.remove_prefix(head_bytes + 2 * size_of(size));
    free = offset + size;
  }
  return state;
}

bool SavedState::belongs_to(int file, const std::string &path) const {
  struct stat info{};
  if (::fstat(file, &info) != 0)
    throw file_error("read", path, errno);
  if (info.st_size < end)
    return false;
  std::vector<char> found;
  for (const auto &[offset, piece] : pieces) {
    found.resize(piece.before.size());
    read_all(file, found.data(), static_cast<std::int64_t>(found.size()), offset, path);
    for (std::size_t at = 0; at < found.size(); ++at)
      if (found[at] != piece.before[at] && found[at] != piece.after[at])
        return false;
  }
  return true;
}

void SavedState::put_back(int file, const std::string &path) const {
  for (const auto &[offset, piece] : pieces)
    write_all(file, piece.before.data(), static_cast<std::int64_t>(piece.before.size()), offset, path);
  if (::ftruncate(file, end) != 0 || ::fsync(file) != 0)
    throw file_error("restore", path, errno);
}

} // namespace tailrace::io
