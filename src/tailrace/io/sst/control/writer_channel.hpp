#pragma once

#include <tailrace/io/sst/control/line_socket.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// Whether somebody takes connections at an IPv4 address, within a few seconds. Local.
bool reachable(const std::string &address, int port);

/// The reader's end of the control channel of a stream, see ReaderChannels. For rank 0 of the reader. Without a
/// connection every call does nothing. Local.
class WriterChannel {
public:
  /// Tries the addresses in order, each for a second at most.
  void connect(const std::vector<std::string> &addresses, int port);
  bool connected() const { return socket_.open(); }
  /// Shows the token, and says at which addresses our ranks are. Then `welcome` asks, for at most `seconds`, whether
  /// the writer lets them in.
  void call(const std::string &token, const std::vector<std::string> &addresses);
  bool welcome(double seconds);
  /// Says who we are. `connections`: our ends of our connections of ADIOS2, as TcpConnection::local.
  void hello(int ranks, const std::set<std::string> &connections);
  /// Step `number` is released, and `before` was the one before it. The seconds are those of this step.
  void done(std::int64_t number, std::int64_t before, double compute, double wait, double transfer);
  void leave();
  /// Whether the writer has said that it dropped this reader.
  bool dropped();

private:
  void take();
  LineSocket socket_;
  bool welcome_ = false, dropped_ = false;
};

} // namespace tailrace::io
