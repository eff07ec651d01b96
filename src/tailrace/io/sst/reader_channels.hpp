#pragma once

#include <tailrace/io/coupling.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

// The control channel of a stream: a TCP connection from rank 0 of each of our readers to rank 0 of the writer, beside
// those of ADIOS2. On it a reader says, a line of JSON each, who it is and what step it has done, so that the writer
// knows without calling ADIOS2 who is behind, and by how much. It is a help and no need: whatever goes wrong with it
// costs the channel only. No thread: the writer's end is drained when the writer calls. Everything is local, for rank
// 0.

constexpr int channel_version = 1;

/// A connected socket that never blocks, and the lines that come on it.
class LineSocket {
public:
  explicit LineSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~LineSocket() { close(); }
  LineSocket(LineSocket &&other) noexcept;
  LineSocket &operator=(LineSocket &&other) noexcept;

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  void close() noexcept;
  /// The whole lines that have come. What is no line of ours, longer than `longest_line` or without JSON in it, closes
  /// the socket, as the other side does when it ends.
  std::vector<nlohmann::json> take();
  /// Closes the socket where the other side takes nothing: it never waits.
  void send(const nlohmann::json &line);

  static constexpr std::size_t longest_line = 64 << 10;

private:
  int descriptor_;
  std::string rest_;
};

/// What the writer knows of one of our readers.
struct ReaderRecord {
  CouplingSide side;
  std::set<int> ports;   ///< local ports of its connections of ADIOS2
  std::int64_t done = 0; ///< number of the last step it has done, or of the last given when it came
  std::chrono::steady_clock::time_point heard; ///< when it said something, or was given a step after it had done all
  bool present() const { return side.state == "open"; }
};

/// The writer's end.
class ReaderChannels {
public:
  using Clock = std::chrono::steady_clock;

  /// Listens at a port of the system's choice. When it cannot, `problem` says why and nobody ever comes.
  explicit ReaderChannels(std::string token);
  ~ReaderChannels();
  ReaderChannels(const ReaderChannels &) = delete;
  ReaderChannels &operator=(const ReaderChannels &) = delete;

  int port() const { return port_; } ///< 0: none
  const std::string &problem() const { return problem_; }

  /// Takes what has come; where nothing has, waits for it, at most `seconds` long. `given`: number of the last step
  /// that went out.
  void drain(double seconds, std::int64_t given);
  /// Whether somebody has connected and not yet said who he is; each is told of until `greet` only.
  bool somebody_silent() const;
  void greet();
  const std::vector<ReaderRecord> &readers() const { return records_; }
  bool any() const;
  /// Steps that the slowest reader has not done.
  std::int64_t behind(std::int64_t given) const;
  /// Readers that have done everything begin to be waited for with the next step.
  void note_given(std::int64_t given);
  /// The readers that have more than `most` steps to do and have said nothing for `seconds`, counted from `from` at the
  /// earliest.
  std::vector<std::size_t> late(std::int64_t most, std::int64_t given, double seconds, Clock::time_point from) const;
  /// From now on it does not count; it is told so.
  void drop(std::size_t reader);
  /// The stream is over: takes the last words; who is still there has read all.
  void end(std::int64_t given);
  /// Steps that ADIOS2 has left out by itself, as readers have found: ranges (after, before) of their numbers. Once.
  std::vector<std::pair<std::int64_t, std::int64_t>> take_gaps();

private:
  struct Stranger {
    LineSocket socket;
    Clock::time_point since;
    bool greeted = false;
  };
  void listen();
  bool wait(double seconds) const;
  void accept_all();
  bool admit(Stranger &stranger, std::int64_t given);
  void take(std::size_t reader, std::int64_t given);
  void note(ReaderRecord &record, const nlohmann::json &line, std::int64_t given);

  std::string token_, problem_;
  int listener_ = -1, port_ = 0;
  std::vector<Stranger> strangers_;
  std::vector<ReaderRecord> records_;
  std::vector<LineSocket> sockets_; ///< of the records
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
};

/// The reader's end.
class WriterChannel {
public:
  /// Tries the addresses, for some seconds at most.
  void connect(const std::vector<std::string> &addresses, int port);
  bool connected() const { return socket_.open(); }
  void hello(const std::string &token, int ranks, const std::set<int> &ports);
  /// The step of this number is released; the seconds are those of this step.
  void done(std::int64_t number, std::int64_t before, double compute, double wait, double transfer);
  void leave();
  /// Whether the writer has said that this reader is dropped.
  bool dropped();

private:
  LineSocket socket_;
  bool dropped_ = false;
};

/// Numbers, host and process of a side; not its state.
nlohmann::json to_json(const CouplingSide &side);
/// Throws when it is not what to_json makes.
CouplingSide side_from_json(const nlohmann::json &text);

/// Addresses of this host at which others may reach it, the most local last.
std::vector<std::string> own_addresses();
std::string own_host();
std::int64_t own_process();

} // namespace tailrace::io
