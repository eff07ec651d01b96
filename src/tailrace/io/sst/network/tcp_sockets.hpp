#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// A connected TCP socket of this process.
struct TcpConnection {
  int descriptor = -1;
  std::uint64_t inode = 0;       ///< identifies the socket, also when its descriptor number is used again
  std::string local, peer;       ///< the two ends, as "10.0.0.1:4711"
  std::uint64_t bytes_sent = 0;  ///< since it was opened
  std::uint64_t bytes_acked = 0; ///< of them, what the system of the other side has confirmed
  double silent = 0;             ///< seconds since something came from the other side
  int unsent = 0;                ///< bytes that the other side has not accepted yet
  bool of_adios2 = false;        ///< see limit_waits; also true while the connection is being made
};

/// A TCP socket at which this process listens.
struct TcpListener {
  int descriptor = -1;
  std::uint64_t inode = 0;
  int port = 0;
};

/// All connections of this process, also those that are being made; `ports`: only those to these local ports. Linux
/// only: elsewhere the result is empty. Local.
std::vector<TcpConnection> tcp_connections(const std::set<int> *ports = nullptr);
/// All sockets at which it listens. Local.
std::vector<TcpListener> tcp_listeners();
/// Those that look as ADIOS2's do, without those in `before`: EVPath listens on all networks of IPv4, and does not set
/// SO_REUSEADDR, as nearly all servers do, notebooks among them. Local.
std::vector<TcpListener> adios2_listeners(const std::vector<TcpListener> &before);
/// Those of `now` that are not in `before`. Local.
std::vector<TcpListener> new_listeners(const std::vector<TcpListener> &now, const std::vector<TcpListener> &before);

/// Ends a connection that other code uses, without a wait: to both sides it looks as if the other one had died. Local.
void cut(const TcpConnection &connection);
/// A time limit of a socket in the unit of the system.
unsigned milliseconds(double seconds);
/// Bounds the waits for a host that has fallen silent on the sockets of EVPath, the network library of ADIOS2: close(2)
/// waits for a second instead of a minute, and what the other side does not take for `seconds` ends the connection
/// instead of 15 minutes. EVPath's sockets are known by SO_LINGER, which nothing else here uses. Local.
void limit_waits(double seconds);

/// limit_waits at every step, but not more often than once in a second: it asks the system about each open descriptor,
/// and strangers may hold hundreds, for MPI takes their connections. Local.
class WaitLimit {
public:
  explicit WaitLimit(double seconds) : seconds_(seconds) {}
  void at_step();

private:
  double seconds_;
  std::chrono::steady_clock::time_point next_;
};

} // namespace tailrace::io
