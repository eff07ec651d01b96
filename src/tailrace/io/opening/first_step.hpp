#pragma once

#include <string>

namespace tailrace::io {

/// Whether there is a series with a complete step at `path`, which takes the place of the series set aside for it. Not
/// where the first step was not completed; but where it cannot be read, nobody knows. Local. Throws IoError then.
bool has_first_step(const std::string &path);

} // namespace tailrace::io
