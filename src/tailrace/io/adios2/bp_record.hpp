#pragma once

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tailrace::io {

/// What BP4 and BP5 cannot do for us is kept in tailrace.json beside their files, replaced at the end of every step:
/// - How large they were then. ADIOS2 waits for ever for the bytes that a cut data file lacks, so we look first.
/// - Checksums of the metadata up to there (md.idx, md.0, mmd.0), in which a flipped bit crashes ADIOS2 or makes it
///   wait; they hold the scalars and attributes too. These files only grow, so each step adds only what it appended.
/// - The attributes, for those that were set after the last step, which ADIOS2 does not store.
/// All local, for one rank. This class writes the record of a directory that is open to write.
class BpRecord {
public:
  explicit BpRecord(std::string directory, bool sync) : directory_(std::move(directory)), sync_(sync) {}

  /// Does not throw: the steps are complete without a record. One of before would be wrong, so it goes.
  void write(const Attributes &attributes) noexcept;

private:
  struct Part {
    RunningChecksum sum;
    std::int64_t bytes = 0;
  };
  void add(const std::string &name);

  std::string directory_;
  bool sync_;
  std::map<std::string, Part> parts_; ///< of the metadata, so far
};

/// What a record says; without one, as in the files of other programs and while the first step is written, nothing.
struct BpRecorded {
  Attributes attributes;
  std::map<std::string, std::uintmax_t> sizes;
};

/// Reads the record and compares the files with it. Throws IoError that names the file that is damaged, shorter than
/// it was, or gone.
BpRecorded check_bp_record(const std::string &directory);
/// Throws IoError that names what is in the directory and of no BP series. ADIOS2 empties a directory that it begins
/// anew, whoever's files and directories are in it: so we look first.
void check_only_bp(const std::string &directory);
/// Whether a run was killed in there before it had written anything: no md.idx yet, and no bytes.
bool is_empty_bp(const std::string &directory);
/// To be called before the files may shrink.
void remove_bp_record(const std::string &directory) noexcept;

} // namespace tailrace::io
