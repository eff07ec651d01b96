// The journal that a killed writer of an HDF5 series leaves: what a reader takes from it, and what a writer puts back.

#include "files.hpp"
#include <tailrace/io/hdf5/journal/journal.hpp>
#include <tailrace/io/hdf5/journal/stable_view.hpp>
#include <tailrace/support/error.hpp>

#include <xxhash.h>

#include <cstring>
#include <filesystem>

using namespace tailrace;
using namespace tailrace::io;

namespace {

constexpr std::size_t header_bytes = 512, hash_at = 504;

/// Gives a journal the checksum of its header and of what it saves.
void check(std::string &journal) {
  if (journal.size() < header_bytes)
    return;
  const XXH64_hash_t hash =
      XXH64(journal.data() + header_bytes, journal.size() - header_bytes, XXH64(journal.data(), hash_at, 0));
  std::memcpy(journal.data() + hash_at, &hash, sizeof hash);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  auto files = fuzz::unpack(data, size);
  for (auto &file : files)
    if (file.name == "x.h5.journal" && size % 8 != 0) // some keep a wrong one
      check(file.bytes);
  const fuzz::Folder folder(files);
  const std::string path = folder.path("x.h5");
  try {
    const StableView view(path);
    if (view.changed())
      __builtin_trap(); // nobody has changed it
  } catch (const IoError &) {
  }
  try {
    Journal::recover(path, 0);
    if (std::filesystem::exists(path + ".journal"))
      __builtin_trap(); // it was put back and is still there
  } catch (const IoError &) {
  }
  return 0;
}
