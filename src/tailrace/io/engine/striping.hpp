#pragma once

#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/storage/files.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// How a new file, or the files of a new directory, are spread over the targets of a Lustre file system. Values that
/// are not given are inherited from the directory.
struct Striping {
  std::int64_t count = 0; ///< targets; -1: all of them; 0: not given
  std::string size; ///< bytes on one target before the next target follows, as lfs takes it: "4M"; empty: not given
};

/// Takes `stripe_count` and `stripe_size`. Throws InputError for values that are not valid.
Striping take_striping(Parameters &parameters);

/// Sets the striping of a new series with Lustre's `lfs` before anything is written. Creates a file; a directory must
/// exist. Returns the striping as text, or "" if none was requested and the place is not on Lustre. Throws IoError with
/// the message of lfs if it refuses. Local.
std::string apply_striping(const Striping &striping, const std::string &path, Kind kind);

} // namespace tailrace::io
