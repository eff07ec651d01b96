#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// A connection of ADIOS2 in this process, made or being made.
struct TcpConnection {
  int descriptor = -1;
  std::uint64_t inode = 0;       ///< identifies the socket, also when its descriptor number is used again
  std::string local, peer;       ///< the two ends, as "10.0.0.1:4711"
  std::uint64_t bytes_acked = 0; ///< what the system of the other side has confirmed
  double silent = 0;             ///< seconds since something came from the other side
  int unsent = 0;                ///< bytes that the other side has not accepted yet
  bool accepted = false;         ///< the other side has made it: it comes from a reader, where this is a writer
};

/// All of them. They are known by SO_LINGER, which nothing else here uses. Linux only: elsewhere the result is empty.
/// Asks the system about each open descriptor. Local.
std::vector<TcpConnection> tcp_connections();
/// Those that the other side has made. Local.
std::vector<TcpConnection> accepted_connections();
/// The other end of a socket of IPv4, as "10.0.0.1:4711"; "": it has none. Local.
std::string peer_of(int socket);

/// Ends a connection that other code uses, without a wait: to both sides it looks as if the other one had died. Local.
void cut(const TcpConnection &connection);
/// Bounds the waits for a host that has fallen silent: close(2) waits for a second, and what the other side does not
/// take for `seconds` ends the connection instead of 15 minutes. Local.
void limit_wait(int socket, double seconds);
/// The same for all connections. Of use at every step where ADIOS2 does not ask about its sockets (HostGuard). Local.
void limit_waits(double seconds);

} // namespace tailrace::io
