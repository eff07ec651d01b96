#pragma once

#include <tailrace/io/sst/line_socket.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// The reader's end of the control channel of a stream, see ReaderChannels. For rank 0 of the reader. Without a
/// connection every call does nothing. Local.
class WriterChannel {
public:
  /// Tries the addresses in order, each for a second at most.
  void connect(const std::vector<std::string> &addresses, int port);
  bool connected() const { return socket_.open(); }
  /// Says who we are. `ports`: local ports of our connections of ADIOS2.
  void hello(const std::string &token, int ranks, const std::set<int> &ports);
  /// Step `number` is released, and `before` was the one before it. The seconds are those of this step.
  void done(std::int64_t number, std::int64_t before, double compute, double wait, double transfer);
  void leave();
  /// Whether the writer has said that it dropped this reader.
  bool dropped();

private:
  LineSocket socket_;
  bool dropped_ = false;
};

} // namespace tailrace::io
