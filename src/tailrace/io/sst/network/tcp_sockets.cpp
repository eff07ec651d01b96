#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace tailrace::io {

namespace {

/// An option of a socket; all zeros, where it has none.
template <class T> T option(int descriptor, int level, int name) {
  T value{};
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, level, name, &value, &size) == 0 ? value : T{};
}

/// Descriptors of the open TCP sockets.
std::vector<int> tcp_sockets() {
  std::vector<int> result;
  std::error_code none; // without /proc no socket is found
  for (std::filesystem::directory_iterator entry("/proc/self/fd", none), end; !none && entry != end;
       entry.increment(none))
    if (const int descriptor = std::stoi(entry->path().filename().string());
        option<int>(descriptor, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP)
      result.push_back(descriptor);
  return result;
}

/// `ask` is getsockname or getpeername; all zeros, where the socket has no address of IPv4.
template <class Ask> sockaddr_in address_of(int descriptor, Ask ask) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const bool known = ask(descriptor, reinterpret_cast<sockaddr *>(&address), &size) == 0;
  return known && address.sin_family == AF_INET ? address : sockaddr_in{};
}

std::string text_of(const sockaddr_in &address) {
  char host[INET_ADDRSTRLEN] = {};
  return address.sin_family == AF_INET && ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host) != nullptr
             ? fmt::format("{}:{}", host, ntohs(address.sin_port))
             : "";
}

std::uint64_t inode_of(int descriptor) {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

} // namespace

std::vector<TcpConnection> tcp_connections() {
  std::vector<TcpConnection> result;
  const std::vector<int> all = tcp_sockets();
  std::set<int> ports; // at which this process listens, in the byte order of the network
  for (const int descriptor : all)
    if (option<int>(descriptor, SOL_SOCKET, SO_ACCEPTCONN) != 0)
      ports.insert(address_of(descriptor, ::getsockname).sin_port);
  // TCP_ESTABLISHED and TCP_SYN_SENT, which only <netinet/tcp.h> defines, and that clashes with <linux/tcp.h>
  constexpr int established = 1, connecting = 2;
  for (const int descriptor : all) {
    const auto info = option<tcp_info>(descriptor, IPPROTO_TCP, TCP_INFO);
    const bool lingers = option<linger>(descriptor, SOL_SOCKET, SO_LINGER).l_onoff != 0; // set once it is connected
    if (info.tcpi_state != connecting && !(info.tcpi_state == established && lingers))
      continue;
    const sockaddr_in local = address_of(descriptor, ::getsockname);
    TcpConnection found{.descriptor = descriptor,
                        .inode = inode_of(descriptor),
                        .local = text_of(local),
                        .peer = peer_of(descriptor),
                        .bytes_acked = info.tcpi_bytes_acked,
                        .silent = info.tcpi_last_data_recv / 1000.0,
                        .accepted = ports.count(local.sin_port) > 0};
    ::ioctl(descriptor, SIOCOUTQ, &found.unsent);
    result.push_back(found);
  }
  return result;
}

std::vector<TcpConnection> accepted_connections() {
  std::vector<TcpConnection> result = tcp_connections();
  std::erase_if(result, [](const TcpConnection &one) { return !one.accepted; });
  return result;
}

std::string peer_of(int socket) { return text_of(address_of(socket, ::getpeername)); }

void cut(const TcpConnection &connection) {
  if (inode_of(connection.descriptor) != connection.inode)
    return;
  const linger none{1, 0};
  ::setsockopt(connection.descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  ::shutdown(connection.descriptor, SHUT_RDWR);
}

void limit_wait(int socket, double seconds) {
  const linger wait{1, std::min(option<linger>(socket, SOL_SOCKET, SO_LINGER).l_linger, 1)};
  const auto most = static_cast<unsigned>(std::clamp(seconds, 1.0, 1e6) * 1000); // milliseconds
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most);
}

void limit_waits(double seconds) {
  for (const TcpConnection &one : tcp_connections())
    limit_wait(one.descriptor, seconds);
}

} // namespace tailrace::io
