#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace tailrace::io {

/// A connected TCP socket of this process.
struct TcpConnection {
  int descriptor = -1;
  std::uint64_t inode = 0; ///< names the socket as long as it is open, also when its descriptor is used again
  int local_port = 0, peer_port = 0;
  std::uint64_t bytes_sent = 0; ///< since it was opened
  double silent = 0;            ///< seconds since something came from the other side
  int unsent = 0;               ///< bytes that the other side has not taken yet
};

/// All of this process. Linux only: elsewhere there are none. Local.
std::vector<TcpConnection> tcp_connections();
/// The ports that this process listens at. Local.
std::set<int> listening_ports();
/// Ends a connection under the feet of whoever uses it: for both sides it is as if the other had died. Local.
void cut(const TcpConnection &connection);

} // namespace tailrace::io
