#pragma once

#include <tailrace/io/sst/network/networks.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <string>
#include <thread>
#include <vector>

namespace tailrace::io {

/// Keeps foreign programs from the ports at which ADIOS2 listens in this process. ADIOS2 listens on all networks,
/// accepts every connection, and waits for its first bytes in the thread that serves all others. From outside of
/// ADIOS2, two settings of the system help. A connection is reported only when bytes have arrived on it; ADIOS2's own
/// readers send them at once. And packets of hosts that are not allowed are dropped, also requests for a connection.
/// This host is always allowed. ADIOS2 uses the same ports for all streams of a process, so all streams add to the
/// hosts. Linux only. Local.
class PortGuard {
public:
  /// Guards these sockets too. `seconds`: see limit_waits.
  static void add(const std::vector<TcpListener> &listeners, double seconds);
  /// A thread that adds ADIOS2's listeners that are not in `before`, until it is destroyed: who connects before gets
  /// in. A server that another thread of the program opens meanwhile, and that looks the same, is guarded too.
  static std::jthread watch(const std::vector<TcpListener> &before, double seconds);
  /// Allows these hosts too.
  static void allow(const Networks &hosts);
  /// What the system refused when the hosts were set last, for the notes of the series; "" for nothing.
  static std::string problem();
};

} // namespace tailrace::io
