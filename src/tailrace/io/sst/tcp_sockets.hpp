#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace tailrace::io {

/// A connected TCP socket of this process.
struct TcpConnection {
  int descriptor = -1;
  std::uint64_t inode = 0; ///< identifies the socket, also when its descriptor number is used again
  int local_port = 0, peer_port = 0;
  std::uint64_t bytes_sent = 0; ///< since it was opened
  double silent = 0;            ///< seconds since something came from the other side
  int unsent = 0;               ///< bytes that the other side has not accepted yet
};

/// All connections of this process. Linux only: elsewhere the result is empty. Local.
std::vector<TcpConnection> tcp_connections();
/// The ports at which this process listens. Local.
std::set<int> listening_ports();
/// Ends a connection that other code uses: to both sides it looks as if the other one had died. Local.
void cut(const TcpConnection &connection);

} // namespace tailrace::io
