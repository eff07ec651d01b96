#include <tailrace/io/sst/network/networks.hpp>

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/support/error.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <optional>
#include <sstream>

namespace tailrace::io {

namespace {

std::optional<Network> network_of(const std::string &text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  int bits = 32;
  if (slash < text.size()) {
    const char *end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + slash + 1, end, bits);
    if (read.ec != std::errc() || read.ptr != end || bits < 0 || bits > 32)
      return std::nullopt;
  }
  in_addr address{};
  if (::inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1)
    return std::nullopt;
  Network result;
  result.mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  result.address = ntohl(address.s_addr) & result.mask;
  return result;
}

} // namespace

Networks networks_from(const std::string &text) {
  std::string words = text;
  std::replace(words.begin(), words.end(), ',', ' ');
  std::istringstream all(words);
  Networks result;
  for (std::string word; all >> word;) {
    if (const auto network = network_of(word == "any" ? "0.0.0.0/0" : word)) {
      result.insert(*network);
      continue;
    }
    const Networks found = known_networks(addresses_of(word));
    if (found.empty())
      throw InputError(fmt::format("parameter hosts = '{}': there is no host '{}'; expected names of hosts, addresses, "
                                   "networks as 10.1.0.0/16, or any",
                                   text, word));
    result.insert(found.begin(), found.end());
  }
  return result;
}

Networks known_networks(const std::vector<std::string> &texts) {
  Networks result;
  for (const auto &text : texts)
    if (const auto network = network_of(text))
      result.insert(*network);
  return result;
}

std::string text_of(const Network &network) {
  const std::uint32_t a = network.address;
  return fmt::format("{}.{}.{}.{}/{}", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, std::popcount(network.mask));
}

Networks peer_network(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr *>(&address), &size) != 0 || address.sin_family != AF_INET)
    return {};
  return {{ntohl(address.sin_addr.s_addr)}};
}

bool covers(const Networks &networks, const Networks &hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const Network &host) {
    return std::any_of(networks.begin(), networks.end(), [&](const Network &one) {
      return (host.mask & one.mask) == one.mask && one.contains(host.address);
    });
  });
}

} // namespace tailrace::io
