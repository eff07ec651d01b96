#pragma once

#include <tailrace/io/types.hpp>

#include <string>

namespace tailrace::io {

/// What BP5 cannot do for us is kept in tailrace.json beside its files:
/// - How large they were after the last step. ADIOS2 waits for ever for the bytes that a cut data file lacks, so we
/// look first.
/// - The attributes, for those that were set after the last step, which BP5 does not store.
/// All local, for one rank.

/// Writes the present sizes and the attributes down. Does not throw: the steps are complete without them.
void write_bp_record(const std::string &directory, const Attributes &attributes, bool sync) noexcept;
/// Returns the recorded attributes. Throws IoError when a file is shorter than it was, or gone. Without a record, as in
/// the files of other programs, there are no attributes and nothing is checked.
Attributes check_bp_record(const std::string &directory);
/// To be called before the files may shrink.
void remove_bp_record(const std::string &directory) noexcept;

} // namespace tailrace::io
