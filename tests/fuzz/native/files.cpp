// What all fuzzers share: MPI, the files of an input, and how an input is changed.

#include "files.hpp"
#include <tailrace/io/data/checksum.hpp>

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace tailrace::fuzz {

namespace {

constexpr std::size_t most_name = 40, most_files = 16;
constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"; // of names

std::string pack(const std::vector<File> &files) {
  std::string bytes;
  for (const File &file : files) {
    bytes += static_cast<char>(file.name.size());
    bytes += file.name;
    for (int byte = 0; byte < 4; ++byte)
      bytes += static_cast<char>(file.bytes.size() >> (8 * byte));
    bytes += file.bytes;
  }
  return bytes;
}

std::size_t put(const std::string &bytes, std::uint8_t *data, std::size_t most) {
  const std::size_t kept = std::min(bytes.size(), most);
  std::memcpy(data, bytes.data(), kept);
  return kept;
}

/// Numbers at which programs break.
constexpr std::array numbers{"0",
                             "-1",
                             "1",
                             "2",
                             "7",
                             "2147483647",
                             "2147483648",
                             "4294967296",
                             "1e308",
                             "-1e308",
                             "0.5",
                             "9223372036854775807",
                             "null",
                             "true",
                             "\"\"",
                             "[]",
                             "{}",
                             "-9223372036854775808",
                             "1152921504606846976",
                             "18446744073709551615"};

/// Puts one of these in the place of a number of a text.
void change_number(std::string &text, std::minstd_rand &dice) {
  constexpr const char *digits = "-+.0123456789";
  std::size_t begin = text.find_first_of("0123456789", dice() % text.size());
  if (begin == std::string::npos)
    return;
  while (begin > 0 && std::strchr(digits, text[begin - 1]) && text[begin - 1] != '\0')
    --begin;
  const std::size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
  text.replace(begin, end - begin, numbers[dice() % numbers.size()]);
}

bool is_text(const File &file) { return file.bytes.starts_with('{') || file.bytes.starts_with('['); }

void change(File &file, std::size_t room, std::minstd_rand &dice) {
  std::string &bytes = file.bytes;
  if (is_text(file) && dice() % 2 == 0)
    return change_number(bytes, dice);
  const std::size_t size = bytes.size();
  bytes.resize(size + std::min<std::size_t>(room, size + 64));
  const std::size_t now = LLVMFuzzerMutate(reinterpret_cast<std::uint8_t *>(bytes.data()), size, bytes.size());
  bytes.resize(now);
}

} // namespace

std::vector<File> unpack(const std::uint8_t *data, std::size_t size) {
  const auto *next = reinterpret_cast<const char *>(data), *const end = next + size;
  const auto take = [&](std::size_t count) {
    const std::string_view taken(next, std::min<std::size_t>(count, static_cast<std::size_t>(end - next)));
    next += taken.size();
    return std::string(taken);
  };
  std::vector<File> files;
  while (next < end && files.size() < most_files) {
    File file;
    file.name = take(static_cast<unsigned char>(*next++) % most_name);
    for (char &letter : file.name)
      if (letters.find(letter) == std::string_view::npos)
        letter = '_';
    if (file.name.find_first_not_of('.') == std::string::npos)
      file.name = "_";
    std::size_t count = 0;
    for (const char byte : take(4))
      count = count << 8 | static_cast<unsigned char>(byte);
    file.bytes = take(__builtin_bswap32(static_cast<std::uint32_t>(count)));
    files.push_back(std::move(file));
  }
  return files;
}

Folder::Folder(const std::vector<File> &files)
    : path_((std::filesystem::is_directory("/dev/shm") ? "/dev/shm/" : "/tmp/") +
            ("tailrace-native-" + std::to_string(::getpid()))) {
  std::filesystem::create_directory(path_);
  for (const File &file : files)
    std::ofstream(path(file.name), std::ios::binary) << file.bytes;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string checksum(std::string_view text) {
  io::RunningChecksum sum;
  sum.add(text.data(), text.size());
  return sum.text();
}

} // namespace tailrace::fuzz

extern "C" int LLVMFuzzerInitialize(int *count, char ***arguments) {
  ::setenv("OMPI_MCA_btl", "self", 1); // one rank
  return MPI_Init(count, arguments);
}

/// Changes one file of an input and keeps the others, where LLVMFuzzerMutate alone would shift the files behind it.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  using namespace tailrace::fuzz;
  std::minstd_rand dice(seed);
  std::vector<File> files = unpack(data, size);
  if (files.empty() || dice() % 50 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::size_t chosen = dice() % files.size();
  if (dice() % 2 == 0) // rather a description, of which there is one, than values
    chosen = static_cast<std::size_t>(std::ranges::find_if(files, is_text) - files.begin()) % files.size();
  File &file = files[chosen];
  if (const auto chance = dice() % 40; chance == 0)
    file.bytes.clear();
  else if (chance == 1)
    file.name = files[dice() % files.size()].name;
  else if (chance == 2 && !file.name.empty())
    file.name[dice() % file.name.size()] = letters[dice() % letters.size()];
  else
    change(file, most > size ? most - size : 0, dice);
  return put(pack(files), data, most);
}

/// The files of one input, some of them exchanged for those of another, and with a file more.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t *one, std::size_t size, const std::uint8_t *other,
                                                 std::size_t other_size, std::uint8_t *data, std::size_t most,
                                                 unsigned int seed) {
  using namespace tailrace::fuzz;
  std::minstd_rand dice(seed);
  std::vector<File> files = unpack(one, size);
  const std::vector<File> others = unpack(other, other_size);
  for (File &file : files)
    for (const File &theirs : others)
      if (file.name == theirs.name && dice() % 2 == 0)
        file = theirs;
  if (!others.empty())
    files.push_back(others[dice() % others.size()]);
  return put(pack(files), data, most);
}

/// The libraries of MPI keep memory until the end.
extern "C" const char *__asan_default_options() { return "detect_leaks=0"; }
