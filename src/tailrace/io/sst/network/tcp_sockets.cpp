#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace tailrace::io {

namespace {

/// Descriptors of the open TCP sockets.
std::vector<int> tcp_sockets() {
  std::vector<int> result;
  std::error_code none; // without /proc no socket is found
  for (std::filesystem::directory_iterator entry("/proc/self/fd", none), end; !none && entry != end;
       entry.increment(none)) {
    const int descriptor = std::stoi(entry->path().filename().string());
    int protocol = 0;
    socklen_t size = sizeof protocol;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP)
      result.push_back(descriptor);
  }
  return result;
}

bool is_set(int descriptor, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &size) == 0 && value != 0;
}

bool listens(int descriptor) { return is_set(descriptor, SO_ACCEPTCONN); }

/// `ask` is getsockname or getpeername.
template <class Ask> int port_of(int descriptor, Ask ask) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (ask(descriptor, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in &>(address).sin_port);
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6 &>(address).sin6_port) : 0;
}

/// "10.0.0.1:4711", the same at both sides of a connection; "" when the system does not tell. `ask`: see port_of.
template <class Ask> std::string end_of(int descriptor, Ask ask) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (ask(descriptor, reinterpret_cast<sockaddr *>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr *>(&address), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  constexpr std::string_view mapped = "::ffff:"; // an address of IPv4 at a socket of IPv6
  const std::string_view name = host;
  return fmt::format("{}:{}", name.starts_with(mapped) ? name.substr(mapped.size()) : name, port);
}

bool on_all_networks(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return ::getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &size) == 0 &&
         address.ss_family == AF_INET && reinterpret_cast<const sockaddr_in &>(address).sin_addr.s_addr == INADDR_ANY;
}

linger linger_of(int descriptor) {
  linger result{};
  socklen_t size = sizeof result;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_LINGER, &result, &size) == 0 ? result : linger{};
}

std::uint64_t inode_of(int descriptor) {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

} // namespace

std::vector<TcpConnection> tcp_connections(const std::set<int> *ports) {
  std::vector<TcpConnection> result;
  // TCP_ESTABLISHED and TCP_SYN_SENT, which only <netinet/tcp.h> defines, and that clashes with <linux/tcp.h>
  constexpr int established = 1, connecting = 2;
  for (const int descriptor : tcp_sockets()) {
    if (ports != nullptr && ports->count(port_of(descriptor, ::getsockname)) == 0)
      continue; // first, for strangers may have made hundreds of connections to MPI
    tcp_info info{};
    socklen_t size = sizeof info;
    if (listens(descriptor) || ::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        (info.tcpi_state != established && info.tcpi_state != connecting))
      continue;
    TcpConnection found{descriptor,
                        inode_of(descriptor),
                        end_of(descriptor, ::getsockname),
                        end_of(descriptor, ::getpeername),
                        info.tcpi_bytes_sent,
                        info.tcpi_bytes_acked,
                        info.tcpi_last_data_recv / 1000.0,
                        0,
                        info.tcpi_state == connecting || linger_of(descriptor).l_onoff != 0};
    ::ioctl(descriptor, SIOCOUTQ, &found.unsent);
    result.push_back(found);
  }
  return result;
}

std::vector<TcpListener> tcp_listeners() {
  std::vector<TcpListener> result;
  for (const int descriptor : tcp_sockets())
    if (listens(descriptor))
      result.push_back({descriptor, inode_of(descriptor), port_of(descriptor, ::getsockname)});
  return result;
}

std::vector<TcpListener> adios2_listeners(const std::vector<TcpListener> &before) {
  std::vector<TcpListener> result = new_listeners(tcp_listeners(), before);
  std::erase_if(result, [](const TcpListener &one) {
    return !on_all_networks(one.descriptor) || is_set(one.descriptor, SO_REUSEADDR);
  });
  return result;
}

std::vector<TcpListener> new_listeners(const std::vector<TcpListener> &now, const std::vector<TcpListener> &before) {
  std::vector<TcpListener> result = now;
  std::erase_if(result, [&](const TcpListener &one) {
    return std::any_of(before.begin(), before.end(), [&](const auto &other) { return other.inode == one.inode; });
  });
  return result;
}

void cut(const TcpConnection &connection) {
  if (inode_of(connection.descriptor) != connection.inode)
    return;
  const linger none{1, 0};
  ::setsockopt(connection.descriptor, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  ::shutdown(connection.descriptor, SHUT_RDWR);
}

unsigned milliseconds(double seconds) { return static_cast<unsigned>(std::clamp(seconds, 1.0, 1e6) * 1000); }

void limit_waits(double seconds) {
  for (const int descriptor : tcp_sockets()) {
    const linger wait = linger_of(descriptor);
    if (wait.l_onoff == 0)
      continue;
    const linger short_wait{1, std::min(wait.l_linger, 1)};
    const unsigned most = milliseconds(seconds);
    ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &short_wait, sizeof short_wait);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most);
  }
}

void WaitLimit::at_step() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_)
    return;
  limit_waits(seconds_);
  next_ = now + std::chrono::seconds(1);
}

} // namespace tailrace::io
