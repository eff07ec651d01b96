#include <tailrace/io/sst/network/port_guard.hpp>

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/packet_filter.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tailrace::io {

namespace {

constexpr int defer_for_good = 24 * 3600; ///< seconds; the system takes as many as it can, some hours
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

/// To be called with the mutex held.
void filter_all(State &now) {
  const std::vector<TcpListener> still = tcp_listeners();
  now.problem.clear();
  for (const TcpListener &one : now.listeners)
    for (const TcpListener &open : still)
      if (open.inode == one.inode) // its descriptor may have been closed, and used again
        if (const std::string problem = set_filter(open.descriptor, now.allowed); !problem.empty())
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
  const unsigned most = milliseconds(seconds);
  for (const TcpListener &one : fresh) {
    ::setsockopt(one.descriptor, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer_for_good, sizeof defer_for_good);
    ::setsockopt(one.descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &most, sizeof most); // accepted sockets inherit it
    ::listen(one.descriptor, longest_queue);
    now.listeners.push_back(one);
  }
  filter_all(now);
}

std::jthread PortGuard::watch(const std::vector<TcpListener> &before, double seconds) {
  return std::jthread([before, seconds](const std::stop_token &stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any stopped;
    using namespace std::chrono_literals;
    const auto begin = std::chrono::steady_clock::now();
    for (bool last = false; !last;) {
      last = stop.stop_requested(); // once more after it
      add(adios2_listeners(before), seconds);
      const auto pause = std::chrono::steady_clock::now() - begin < 1s ? 10ms : 250ms; // ADIOS2 listens at once
      if (!last)
        stopped.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

void PortGuard::allow(const Networks &hosts) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  now.allowed.insert(hosts.begin(), hosts.end());
  filter_all(now);
}

std::string PortGuard::problem() {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  return now.problem;
}

} // namespace tailrace::io
