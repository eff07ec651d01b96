#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/sst/control/line_socket.hpp>
#include <tailrace/io/sst/network/networks.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

constexpr int channel_version = 3; ///< of the lines on the control channel

/// The data of the writer about one of our readers.
struct ReaderRecord {
  CouplingSide side;
  std::set<std::string> connections; ///< its ends of its connections of ADIOS2, as TcpConnection::local there
  std::int64_t done = 0;     ///< number of the last step that it has done; at first, of the last before we heard of it
  std::int64_t reported = 0; ///< the same as it has said itself; 0: nothing yet
  std::chrono::steady_clock::time_point heard; ///< when it said something, or got a step after it had done all others
  bool present() const { return side.state == "open"; }
};

/// The writer's end of the control channel of a stream: TCP connections from rank 0 of each of our readers (see
/// WriterChannel) to rank 0 of the writer, beside those of ADIOS2. On it a reader calls, in lines of JSON: it shows the
/// token of the contact file and says on which hosts it runs. When all ranks of the writer let these in (see
/// PortGuard), it is told so and connects to ADIOS2. Then it says who it is, and later which step it has done. So the
/// writer knows, without a call of ADIOS2, which reader is behind and by how much. The stream works without it: an
/// error on the channel closes the channel, and nothing else. There is no thread: the writer reads the channel when it
/// is called. Local, for rank 0.
class ReaderChannels {
public:
  using Clock = std::chrono::steady_clock;

  /// Listens at a port that the system chooses. When that fails, no reader can connect.
  explicit ReaderChannels(std::string token);
  ~ReaderChannels();
  ReaderChannels(const ReaderChannels &) = delete;
  ReaderChannels &operator=(const ReaderChannels &) = delete;

  int port() const { return port_; }                      ///< 0: no port
  const std::string &problem() const { return problem_; } ///< what has failed last, for the notes of the series

  /// Reads what has arrived; if there is nothing, waits for up to `seconds`. `given`: number of the last step that went
  /// out.
  void drain(double seconds, std::int64_t given);
  /// Callers are readers that have called and do not know yet that they may come in: whether there are any, the
  /// addresses of their hosts, and telling them.
  bool any_callers() const;
  Networks callers() const;
  void welcome();
  /// Whether there is a reader that may come in and has not yet said who it is.
  bool any_pending() const;
  /// The same, without those that were there when `greet` was called.
  bool somebody_silent() const;
  void greet();
  const std::vector<ReaderRecord> &readers() const { return records_; }
  bool any() const;
  /// The number of steps that the slowest reader has still to do.
  std::int64_t behind(std::int64_t given) const;
  /// A step has gone out: for readers that had done all others, the time until they are late begins.
  void note_given(std::int64_t given);
  /// The readers that have more than `most` steps to do and have said nothing for `seconds`, counted from `from` at the
  /// earliest.
  std::vector<std::size_t> late(std::int64_t most, std::int64_t given, double seconds, Clock::time_point from) const;
  /// Those that have not reported the last of the `given` steps, and have said nothing for `seconds`.
  std::vector<std::size_t> unreported(std::int64_t given, double seconds) const;
  /// Tells the reader that it is dropped. From now on it does not count.
  void drop(std::size_t reader);
  /// The stream is over: reads the last lines, and takes all readers that are still present as finished.
  void end(std::int64_t given);
  /// Steps that ADIOS2 itself left out, as readers found: ranges (after, before) of their numbers. Each is returned
  /// once.
  std::vector<std::pair<std::int64_t, std::int64_t>> take_gaps();

private:
  /// A connection that has not yet said who it is.
  struct PendingConnection {
    LineSocket socket;
    Clock::time_point since;
    Networks hosts = {}; ///< of the reader
    bool called = false, welcome = false, greeted = false;
  };
  void listen();
  bool wait(double seconds) const;
  void accept_all();
  void pause(int error);
  bool listens() const { return listener_ >= 0 && Clock::now() >= resume_; }
  bool call(PendingConnection &pending, const nlohmann::json &line) const;
  bool admit(PendingConnection &pending, std::int64_t given);
  void take(std::size_t reader, std::int64_t given);
  void note(ReaderRecord &record, const nlohmann::json &line, std::int64_t given);

  std::string token_, problem_;
  int listener_ = -1, port_ = 0;
  Clock::time_point resume_; ///< when the listener is asked again
  std::vector<PendingConnection> pending_;
  std::vector<ReaderRecord> records_;
  std::vector<LineSocket> sockets_; ///< of the records
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
};

} // namespace tailrace::io
