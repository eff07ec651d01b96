#pragma once

#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/storage/files.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// How a new file, or the files of a new directory, are spread over the targets of a Lustre file system. What is not
/// given is inherited from the directory.
struct Striping {
  std::int64_t count = 0; ///< targets; -1: all of them; 0: not given
  std::string size;       ///< bytes on one target before the next one's turn, as lfs takes it: "4M"; empty: not given
};

/// Takes `stripe_count` and `stripe_size`. Throws InputError for what they cannot be.
Striping take_striping(Parameters &parameters);

/// Gives the place of a new series its striping by Lustre's `lfs`, before anything is written there; a file is made for
/// it, a directory must be there. Says what holds now, "" where nothing was asked for and the place is not on Lustre.
/// Throws IoError with lfs's own words when it refuses. Local.
std::string apply_striping(const Striping &striping, const std::string &path, Kind kind);

} // namespace tailrace::io
