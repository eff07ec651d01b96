#include <tailrace/io/sst/network/host.hpp>

#include <tailrace/support/process_identity.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>

namespace tailrace::io {

namespace {

struct Interface {
  std::string name, address;
  bool loopback;
};

std::string text_of(const in_addr &address) {
  char name[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, &address, name, sizeof name) != nullptr ? name : "";
}

/// Those that are up and have an address of IPv4; loopback comes last.
std::vector<Interface> interfaces() {
  std::vector<Interface> result;
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) != 0)
    return result;
  for (const ifaddrs *one = all; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) != 0)
      result.push_back({one->ifa_name, text_of(reinterpret_cast<const sockaddr_in *>(one->ifa_addr)->sin_addr),
                        (one->ifa_flags & IFF_LOOPBACK) != 0});
  ::freeifaddrs(all);
  std::stable_partition(result.begin(), result.end(), [](const auto &one) { return !one.loopback; });
  return result;
}

} // namespace

std::vector<std::string> addresses_of(const std::string &name) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM; // else each address comes once for every kind of socket
  addrinfo *found = nullptr;
  std::vector<std::string> result;
  if (::getaddrinfo(name.c_str(), nullptr, &wanted, &found) != 0)
    return result;
  for (const addrinfo *one = found; one != nullptr; one = one->ai_next)
    result.push_back(text_of(reinterpret_cast<const sockaddr_in *>(one->ai_addr)->sin_addr));
  ::freeaddrinfo(found);
  return result;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  for (const Interface &one : interfaces())
    if (!one.loopback)
      result.push_back(one.address);
  result.emplace_back("127.0.0.1");
  return result;
}

std::vector<std::string> own_interfaces() {
  std::vector<std::string> result;
  for (const Interface &one : interfaces())
    result.push_back(one.name);
  return result;
}

std::string own_interface() {
  std::vector<Interface> all = interfaces();
  std::erase_if(all, [](const auto &one) { return one.loopback; });
  if (all.size() < 2)
    return "";
  const std::vector<std::string> named = addresses_of(this_process().host);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto &one) {
    return std::find(named.begin(), named.end(), one.address) != named.end();
  });
  return found == all.end() ? "" : found->name;
}

std::string address_of_interface(const std::string &name) {
  for (const Interface &one : interfaces())
    if (one.name.starts_with(name))
      return one.address;
  return "";
}

} // namespace tailrace::io
