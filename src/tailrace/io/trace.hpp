#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace::io {

/// Where the time of input and output goes.
enum class Phase {
  convert,   ///< change of precision, compression, copies out of strided arrays
  checksum,  ///< checksums that are not made while something else is
  copy,      ///< into the buffers of asynchronous writing
  aggregate, ///< between ranks, to those that write
  write,     ///< data, to the file system or the engine's library
  metadata,  ///< what a file says of itself
  sync,      ///< waiting for the disk, when `sync` was asked for
  wait,      ///< for other ranks, or for a free buffer
  read
};
constexpr std::size_t phase_count = 9;
std::string_view name_of(Phase phase);

/// What one rank's series did: calls, bytes and wall time by phase, and on request every single event. The time of a
/// phase is its own: what happens in a phase within it counts there. Local; may be used from several threads at once.
class Trace {
public:
  struct Total {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;
  };
  struct Event {
    Phase phase = Phase::write;
    std::int64_t step = -1; ///< index of the step, or -1
    std::int64_t bytes = 0;
    double begin = 0, seconds = 0;       ///< of wall time, since the trace began; with what is within it
    double own_seconds = 0;              ///< without
    bool background = false;             ///< in the thread of asynchronous writing
    std::array<std::uint8_t, 6> outer{}; ///< the phases around it, outermost first
    std::uint8_t depth = 0;              ///< how many
  };

  Total total(Phase phase) const;
  /// From now on every event is kept, not only the totals.
  void keep_events();
  std::vector<Event> events() const;
  /// The step that the calling thread works at.
  static void set_step(std::int64_t index);
  /// Says that the calling thread is the background's.
  static void set_background();

private:
  friend class Span;
  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex_;
  std::array<Total, phase_count> totals_{};
  bool keep_ = false;
  std::vector<Event> events_;
  Clock::time_point start_ = Clock::now();
};

/// A phase that lasts as long as this object. `bytes` is what it moves.
class Span {
public:
  Span(Trace &trace, Phase phase, std::int64_t bytes = 0);
  ~Span();
  Span(const Span &) = delete;
  Span &operator=(const Span &) = delete;
  void add_bytes(std::int64_t bytes) { bytes_ += bytes; }

private:
  Trace &trace_;
  Phase phase_;
  std::int64_t bytes_;
  Trace::Clock::time_point start_;
  double within_ = 0; ///< seconds of the spans inside this one
  Span *outer_;
};

} // namespace tailrace::io
