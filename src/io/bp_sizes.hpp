#pragma once

#include <string>

namespace tailrace::io {

/// A BP directory whose data file lost its end makes ADIOS2 wait for ever for the missing bytes. So tailrace.json
/// beside the data tells how large the files were after the last step, and we look before ADIOS2 does. All local, for
/// one rank.

/// Writes the present sizes down. Does not throw: the step is complete without them.
void record_sizes(const std::string &directory, bool sync) noexcept;
/// Throws IoError when a file is shorter than it was, or gone. Nothing recorded, nothing checked.
void check_sizes(const std::string &directory);
/// To be called before the files may shrink.
void forget_sizes(const std::string &directory) noexcept;

} // namespace tailrace::io
