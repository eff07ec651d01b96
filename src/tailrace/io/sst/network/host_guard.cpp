#include <tailrace/io/sst/network/host_guard.hpp>

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/our_adios2.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <mutex>

namespace tailrace::io {

namespace {

struct State {
  std::mutex mutex;
  Networks allowed;
  double seconds = 0;
};

/// Never destroyed: a thread of ADIOS2 may still ask when the program ends.
State &state() {
  static State &one = *new State;
  return one;
}

int ask(int socket, int accepted) {
  State &now = state();
  double seconds = 0;
  {
    const std::scoped_lock lock(now.mutex);
    seconds = now.seconds;
  }
  limit_wait(socket, seconds);
  return accepted == 0 || HostGuard::admits(peer_network(socket)) ? 1 : 0;
}

} // namespace

void HostGuard::begin(double seconds) {
  State &now = state();
  {
    const std::scoped_lock lock(now.mutex);
    now.allowed.merge(known_networks(own_addresses()));
    now.allowed.insert({0x7f000000, 0xff000000}); // loopback
    now.seconds = seconds;
  }
  ask_about_sockets(ask);
}

void HostGuard::allow(const Networks &hosts) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  now.allowed.insert(hosts.begin(), hosts.end());
}

bool HostGuard::admits(const Networks &host) {
  State &now = state();
  const std::scoped_lock lock(now.mutex);
  return !host.empty() && covers(now.allowed, host);
}

} // namespace tailrace::io
