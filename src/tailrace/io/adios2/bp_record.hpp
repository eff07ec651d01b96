#pragma once

#include <tailrace/io/adios2/bp_written.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

/// Writes tailrace.json, the record next to the files of BP4 or BP5, again at the end of every step. It holds:
/// - The sizes of the files: ADIOS2 waits forever for bytes that a data file lacks, so we check the sizes first.
/// - Checksums of the metadata files (md.idx, md.0, mmd.0), because a wrong bit there makes ADIOS2 crash or wait. The
/// files only grow, so each step adds only the new bytes to the checksums. Our ADIOS2 tells what it writes there: what
/// the system has lost is an error of the step.
/// - The attributes, because ADIOS2 does not store those that are set after the last step.
/// All functions are local; one rank uses the record. This class writes it; the directory must be open to write.
class BpRecord {
public:
  /// `kept`: the attributes of a record without sizes that is there, see keep_bp_attributes.
  BpRecord(std::string directory, bool sync, std::optional<Attributes> kept)
      : directory_(std::move(directory)), sync_(sync), stored_(std::move(kept)) {}

  /// To be called before ADIOS2 opens the series to write: from here on it is known what it writes.
  void watch();
  /// After the end of a step: adds the new bytes of the metadata files. Throws IoError if they are not those that
  /// ADIOS2 has written.
  void add_new();
  /// Does not throw: steps are complete without a record. On failure removes a record that has other attributes, which
  /// would be wrong. Returns whether there is a record with these attributes.
  bool write(const Attributes &attributes) noexcept;

private:
  struct Part {
    RunningChecksum sum;
    std::int64_t bytes = 0;
    std::unique_ptr<BpWritten> written; ///< from `watch` on
  };
  void add(const std::string &name);

  std::string directory_;
  bool sync_;
  std::optional<Attributes> stored_;  ///< in the record that is there
  std::map<std::string, Part> parts_; ///< of the metadata files, so far
};

/// The contents of a record. Empty without one: in files of other programs and while the first step is written.
struct BpRecorded {
  Attributes attributes;
  std::map<std::string, std::uintmax_t> sizes;
};

/// Reads the record and compares the files with it. Throws IoError that names a file that is damaged, too short or
/// missing.
BpRecorded check_bp_record(const std::string &directory);
/// Whether the record has a checksum of every byte of the metadata files, so that check_bp_record finds all damage
/// before ADIOS2 reads them; also true for a damaged record and for files that are too short, which check_bp_record
/// refuses.
bool bp_record_covers(const std::string &directory);
/// The checksum of the first `bytes` of a metadata file, without what a writer changes in them. Throws IoError.
std::string bp_metadata_sum(const std::string &directory, const std::string &name, std::int64_t bytes);
/// Throws IoError that names a symbolic link in the directory: what is written or cut there would be a file elsewhere.
void check_no_links(const std::string &directory);
/// Throws IoError that names any file or directory that is not part of a BP series. To be called before ADIOS2 starts a
/// new series, because ADIOS2 deletes everything in its directory.
void check_only_bp(const std::string &directory);
/// Whether a run was killed in this directory before it wrote anything: no md.idx, and only empty BP files.
bool is_empty_bp(const std::string &directory);
/// Paths of the BP files in the directory, without tailrace.json.
std::vector<std::string> bp_files(const std::string &directory);
/// Leaves a record of the attributes alone. Call this before the files become shorter: those that were set after the
/// last step are nowhere else, and the program may be killed. On failure removes the old record, which would be wrong,
/// and returns false.
bool keep_bp_attributes(const std::string &directory, const Attributes &attributes, bool sync) noexcept;
/// Call this before the files are written again from the start.
void remove_bp_record(const std::string &directory) noexcept;

} // namespace tailrace::io
