#pragma once

#include <cstdint>
#include <string>

namespace tailrace::io {

/// Throws IoError when the disk of `path` has no room for `bytes` more and the metadata of a step of `ranks` ranks: to
/// be found before a library is called that would hang. Quotas do not show here. Local.
void check_room(const std::string &path, std::int64_t bytes, int ranks);

} // namespace tailrace::io
