#pragma once

#include <tailrace/io/sst/control/reader_channels.hpp>
#include <tailrace/io/sst/network/our_adios2.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

/// Who reads a stream, as rank 0 of its writer sees it: our own readers by their control channel, those of other
/// programs only by what is known of ADIOS2's readers. Local.
class ReaderTable {
public:
  /// `timeout`: seconds after which a reader that holds up the writer is dropped.
  ReaderTable(std::string stream, const std::string &token, double timeout);

  ReaderChannels &channels() { return channels_; }
  const ReaderChannels &channels() const { return channels_; }

  /// ADIOS2 has opened the stream. `readers`: see readers_of_last_stream.
  void opened(AskReaders readers) { seen_ = std::move(readers); }
  bool any() const;         ///< there is a reader that gets the next step
  bool any_pending() const; ///< a reader waits to be admitted
  /// Waits a moment for readers that were just admitted to say who they are.
  void meet(std::int64_t given);
  /// How many readers were admitted so far, as far as ADIOS2 tells.
  std::int64_t ever_admitted() const { return seen_().ever; }
  /// Whether a reader was admitted since there were `before`; where ADIOS2 does not tell: whether there is one.
  bool admitted_since(std::int64_t before, std::int64_t given);

  /// Waits until no reader of ours has more than `most` of the `given` steps to do, and drops those that make no
  /// progress for `timeout` seconds; the message about it names `step`.
  void wait(std::int64_t most, std::int64_t given, std::int64_t step);
  /// A call of ADIOS2 has lasted for `timeout` seconds, and `call` more: cuts the connection of a reader, so that
  /// ADIOS2 takes this reader for dead. Returns true when nothing helps. For the thread of a Watchdog, while ADIOS2 is
  /// being called.
  bool rescue(int call, std::int64_t given, std::int64_t step);
  /// The same in a rank other than 0: cuts the connections of readers that do not take what was sent to them.
  static void rescue_elsewhere();

private:
  bool somebody_new() const;
  void await_hello(std::int64_t given);
  std::vector<std::size_t> to_blame(const std::vector<std::size_t> &late, std::int64_t given, double seconds) const;
  std::vector<std::size_t> holding_up(std::int64_t given) const;
  bool cut_other(std::int64_t step, bool first) const;
  void drop(std::size_t reader, std::int64_t step);
  void say(std::int64_t step, const std::string &who) const;

  std::string stream_;
  double timeout_;
  AskReaders seen_ = [] { return AdmittedReaders{}; };
  ReaderChannels channels_;
  int last_cut_ = 0; ///< the call of `rescue` that cut a connection last; negative: none did
};

} // namespace tailrace::io
