#include <tailrace/io/sst/port_guard.hpp>

#include <tailrace/io/sst/host.hpp>

#include <fmt/format.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace tailrace::io {

namespace {

constexpr int defer = 24 * 3600; ///< seconds; the system takes as many as it can, some hours
constexpr int longest_queue =
    1 << 16; ///< connections without bytes; the system takes as many as it can, some thousands

struct State {
  std::mutex mutex;
  std::vector<TcpListener> listeners;
  Networks allowed;
  std::string problem;
};

State &state() {
  static State one;
  return one;
}

/// A program for the system's filter of packets: keep those whose source is one of `hosts`.
std::vector<sock_filter> filter_of(const Networks &hosts) {
  constexpr auto source = static_cast<std::uint32_t>(SKF_NET_OFF + 12); // in the header of IP
  std::vector<sock_filter> program;
  for (const Network &host : hosts) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, source));
    program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, host.mask));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, host.address, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, ~std::uint32_t{0}));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  return program;
}

/// Where the system refuses the filter, the port is open to all. Returns what it says, or "".
std::string set_filter(const TcpListener &listener, const Networks &hosts) {
  std::vector<sock_filter> program = filter_of(hosts);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (program.size() <= BPF_MAXINSNS &&
      ::setsockopt(listener.descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0)
    return "";
  const std::string why = program.size() > BPF_MAXINSNS ? "there are too many hosts" : std::strerror(errno);
  const int none = 0;
  ::setsockopt(listener.descriptor, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none);
  return why;
}

/// To be called with the mutex held.
void filter_all(State &now) {
  const std::vector<TcpListener> still = tcp_listeners();
  for (const TcpListener &one : now.listeners)
    for (const TcpListener &open : still)
      if (open.inode == one.inode) // its descriptor may have been closed, and used again
        if (const std::string problem = set_filter(open, now.allowed); !problem.empty())
          now.problem = problem;
}

} // namespace

void PortGuard::add(const std::vector<TcpListener> &listeners, double seconds) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  const std::vector<TcpListener> fresh = new_listeners(listeners, now.listeners);
  if (fresh.empty())
    return;
  const Networks own = known_networks(own_addresses());
  now.allowed.insert(own.begin(), own.end());
  now.allowed.insert({0x7f000000, 0xff000000}); // loopback
  const auto most = static_cast<unsigned>(seconds * 1000);
  for (const TcpListener &one : fresh) {
    ::setsockopt(one.descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof defer);
    ::setsockopt(one.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most); // accepted sockets inherit it
    ::listen(one.descriptor, longest_queue);
    now.listeners.push_back(one);
  }
  filter_all(now);
}

std::jthread PortGuard::watch(const std::vector<TcpListener> &before, double seconds) {
  return std::jthread([before, seconds](const std::stop_token &stop) {
    for (bool last = false; !last; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      last = stop.stop_requested(); // once more after it
      if (const auto listeners = new_listeners(tcp_listeners(), before); !listeners.empty())
        add(listeners, seconds);
    }
  });
}

void PortGuard::allow(const Networks &hosts) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  now.allowed.insert(hosts.begin(), hosts.end());
  filter_all(now);
}

bool PortGuard::allows(const Networks &hosts) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  return covers(now.allowed, hosts);
}

std::string PortGuard::problem() {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  return now.problem.empty() ? "" : fmt::format("the ports of ADIOS2 are open to all hosts ({})", now.problem);
}

} // namespace tailrace::io
