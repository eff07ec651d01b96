#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// A range of IPv4 addresses, as 10.1.0.0/16; a host is one with 32 bits. ADIOS2 uses no IPv6.
struct Network {
  std::uint32_t address = 0; ///< in the byte order of this machine; the bits beyond the mask are zero
  std::uint32_t mask = ~std::uint32_t{0};
  auto operator<=>(const Network &) const = default;
  bool contains(std::uint32_t host) const { return (host & mask) == address; }
};
using Networks = std::set<Network>;

/// The networks that `text` names, separated by commas or spaces: addresses, networks as 10.1.0.0/16, names of hosts,
/// or "any". Throws InputError for other texts. Asks the system for names. Local.
Networks networks_from(const std::string &text);
/// The same, for addresses and networks only; other texts are left out. Local.
Networks known_networks(const std::vector<std::string> &texts);
std::string text_of(const Network &network); ///< as networks_from reads it
/// At most `most` networks, 1 or more, that hold all of `networks`: those that have the longest prefix in common are
/// joined first, so that few others come in.
Networks widened(const Networks &networks, std::size_t most);
/// Whether all of `hosts` are in `networks`.
bool covers(const Networks &networks, const Networks &hosts);

} // namespace tailrace::io
