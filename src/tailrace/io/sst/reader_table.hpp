#pragma once

#include <tailrace/io/sst/reader_channels.hpp>
#include <tailrace/io/sst/tcp_sockets.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Who reads a stream, as its writer's rank 0 sees it: ours by their control channel, those of other programs by the
/// connections of ADIOS2 only. Local.
class StreamReaders {
public:
  /// `timeout`: seconds after which a reader that holds the writer up is dropped.
  StreamReaders(std::string stream, const std::string &token, double timeout);

  /// Ports at which ADIOS2 listens for readers in this process, for all of its streams: it opens them with the first.
  static void add_ports(const std::set<int> &ports);

  ReaderChannels &channels() { return channels_; }
  const ReaderChannels &channels() const { return channels_; }

  /// Whether it can be seen at all who is there.
  static bool visible();
  bool there() const;    ///< somebody gets the next step
  bool knocking() const; ///< somebody wants to be admitted
  /// Bytes sent to readers so far: the answer that admits one shows in it.
  static std::uint64_t sent();
  static bool admitted(std::uint64_t before) { return sent() > before + least_welcome; }
  /// Waits a moment until those that were just admitted have said who they are.
  void meet(std::int64_t given);

  /// Waits until no reader of ours has more than `most` steps of those `given` to do, and drops those that make no
  /// progress for `timeout` seconds; says so, naming `step`.
  void wait(std::int64_t most, std::int64_t given, std::int64_t step);
  /// A call of ADIOS2 has waited for `timeout` seconds, and `call` more: to ADIOS2 some reader shall have died. True:
  /// nothing helps. For the thread of a Watchdog, while ADIOS2 is being called.
  bool rescue(int call, std::int64_t given, std::int64_t step);
  /// The same in a rank other than 0: drops those that do not even take what was sent to them.
  static void rescue_elsewhere();

private:
  /// Bytes: the answer that admits a reader describes all ranks and formats and has more than 2000, that to a reader
  /// that only asks for the transport has less than 500.
  static constexpr std::uint64_t least_welcome = 1000;
  bool somebody_new() const;
  void drop(std::size_t reader, std::int64_t step);
  void say(std::int64_t step, const std::string &who) const;

  std::string stream_;
  double timeout_;
  ReaderChannels channels_;
};

} // namespace tailrace::io
