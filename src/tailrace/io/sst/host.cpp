#include <tailrace/io/sst/host.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <climits>

namespace tailrace::io {

std::string own_host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::int64_t own_process() { return ::getpid(); }

std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs *one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0 ||
          (one->ifa_flags & IFF_UP) == 0)
        continue;
      char name[INET_ADDRSTRLEN] = {};
      const auto *address = reinterpret_cast<const sockaddr_in *>(one->ifa_addr);
      if (::inet_ntop(AF_INET, &address->sin_addr, name, sizeof name) != nullptr)
        result.emplace_back(name);
    }
    ::freeifaddrs(all);
  }
  result.emplace_back("127.0.0.1");
  return result;
}

} // namespace tailrace::io
