#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/sst/line_socket.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

constexpr int channel_version = 1; ///< of the lines on the control channel

/// What the writer knows of one of our readers.
struct ReaderRecord {
  CouplingSide side;
  std::set<int> ports;   ///< local ports of its connections of ADIOS2
  std::int64_t done = 0; ///< number of the last step that it has done; at first, of the last step before it came
  std::chrono::steady_clock::time_point heard; ///< when it said something, or got a step after it had done all others
  bool present() const { return side.state == "open"; }
};

/// The writer's end of the control channel of a stream: TCP connections from rank 0 of each of our readers (see
/// WriterChannel) to rank 0 of the writer, beside those of ADIOS2. On it a reader says, in lines of JSON, who it is and
/// which step it has done. So the writer knows, without a call of ADIOS2, which reader is behind and by how much. The
/// stream works without it: an error on the channel closes the channel, and nothing else. There is no thread: the
/// writer reads the channel when it is called. Local, for rank 0.
class ReaderChannels {
public:
  using Clock = std::chrono::steady_clock;

  /// Listens at a port that the system chooses. When that fails, `problem` says why, and no reader can connect.
  explicit ReaderChannels(std::string token);
  ~ReaderChannels();
  ReaderChannels(const ReaderChannels &) = delete;
  ReaderChannels &operator=(const ReaderChannels &) = delete;

  int port() const { return port_; } ///< 0: none
  const std::string &problem() const { return problem_; }

  /// Reads what has arrived; if there is nothing, waits for up to `seconds`. `given`: number of the last step that went
  /// out.
  void drain(double seconds, std::int64_t given);
  /// Whether there is a connection that has not yet said who it is.
  bool any_pending() const { return !pending_.empty(); }
  /// The same, without the connections that were there when `greet` was called.
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
    bool greeted = false;
  };
  void listen();
  bool wait(double seconds) const;
  void accept_all();
  bool admit(PendingConnection &pending, std::int64_t given);
  void take(std::size_t reader, std::int64_t given);
  void note(ReaderRecord &record, const nlohmann::json &line, std::int64_t given);

  std::string token_, problem_;
  int listener_ = -1, port_ = 0;
  std::vector<PendingConnection> pending_;
  std::vector<ReaderRecord> records_;
  std::vector<LineSocket> sockets_; ///< of the records
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
};

} // namespace tailrace::io
