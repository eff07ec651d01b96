#pragma once

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Adds bytes of the metadata file of this name, which begin at `start` in it, to its checksum, without those that say
/// whether a writer is active: no others change later. Local.
void add_metadata(RunningChecksum &sum, const std::string &name, const char *data, std::int64_t size,
                  std::int64_t start);
/// Whether these bytes of md.idx say nothing but whether a writer is active.
bool is_active_flag(std::int64_t start, std::int64_t size);

/// A metadata file of a BP directory, to add its bytes to checksums without what a writer changes in them. Local.
class BpMetadata {
public:
  /// How much is read at once of a file of which much is needed.
  static constexpr std::int64_t much = 1 << 20;

  /// Opens the file. Up to `ahead` bytes are read before they are needed, if they lie before `end`. Throws IoError.
  BpMetadata(const std::string &directory, const std::string &name, std::int64_t end, std::int64_t ahead);
  /// Adds the bytes [from, to). Throws IoError.
  void add(RunningChecksum &sum, std::int64_t from, std::int64_t to);

private:
  void load(std::int64_t from, std::int64_t wanted);

  std::string name_, path_;
  std::int64_t end_, ahead_, begin_ = 0; ///< begin_: of the piece in memory
  FileDescriptor file_;
  std::vector<char> piece_;
};

} // namespace tailrace::io
