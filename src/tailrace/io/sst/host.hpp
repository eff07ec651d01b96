#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

std::string own_host();
std::int64_t own_process();
/// Addresses at which other hosts may reach this one; the loopback address comes last. Local.
std::vector<std::string> own_addresses();

} // namespace tailrace::io
