// SION containers: everything in x.sion and its other files.

#include "files.hpp"
#include <tailrace/io/sion/container.hpp>
#include <tailrace/support/error.hpp>

#include <algorithm>

using namespace tailrace;

namespace {

void read_stream(const io::SionReader &container, int task) {
  constexpr std::int64_t most_bytes = 1 << 20;
  const std::int64_t size = container.size(task), part = std::min(size, most_bytes);
  std::vector<char> bytes(static_cast<std::size_t>(part));
  container.read(task, 0, part, bytes.data());
  container.read(task, size - part, part, bytes.data());
  std::int64_t used = 0;
  for (const std::int64_t block : container.used(task))
    used += block;
  if (used != size)
    __builtin_trap(); // its two sizes do not agree
}

void read_all(const std::string &path) {
  const io::SionReader container(path);
  for (int task = 0; task < std::min(container.tasks(), 100); ++task) {
    try {
      read_stream(container, task);
    } catch (const IoError &) {
    }
    try {
      for (const auto &pair : container.pairs(task))
        if (pair.offset < 0 || pair.size < 0 || pair.offset + pair.size > container.size(task))
          __builtin_trap(); // a value outside its stream
    } catch (const IoError &) {
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const fuzz::Folder folder(fuzz::unpack(data, size));
  try {
    read_all(folder.path("x.sion"));
  } catch (const IoError &) {
  }
  return 0;
}
