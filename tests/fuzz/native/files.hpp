#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::fuzz {

/// An input of a fuzzer is some files. Each is one byte with the length of its name, the name, four bytes with the
/// number of its bytes (smallest first), and its bytes; so an input of any bytes is some files. `seeds.py` makes them.
struct File {
  std::string name; ///< letters, digits, '.', '-' and '_' only, so that no file lies outside the folder
  std::string bytes;
};
std::vector<File> unpack(const std::uint8_t *data, std::size_t size);

/// The files of an input, in a folder in memory that is removed with this object.
class Folder {
public:
  explicit Folder(const std::vector<File> &files);
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path(const std::string &name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

/// As 16 hexadecimal digits: the checksum (XXH3) that descriptions of series have of their own text. The fuzzers write
/// sound checksums, because a change of one byte would never come further than to their comparison.
std::string checksum(std::string_view text);

/// A value of a stored type fits into a few bytes, but a shape may promise any number: arrays above this number of
/// values are read in part.
constexpr std::int64_t most_values = 1 << 18;

} // namespace tailrace::fuzz
