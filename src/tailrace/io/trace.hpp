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

/// Kinds of work in input and output, for measuring their time.
enum class Phase {
  convert,   ///< change of precision, compression, copies out of strided arrays
  checksum,  ///< checksums that are computed in a pass of their own
  copy,      ///< into the buffers of asynchronous writing
  aggregate, ///< messages to the ranks that write
  write,     ///< values, to the file system or the library of the format
  metadata,  ///< descriptions of the values in the files
  sync,      ///< waiting for the disk, with the parameter `sync`
  wait,      ///< for other ranks, or for a free buffer
  read
};
constexpr std::size_t phase_count = 9;
std::string_view name_of(Phase phase);

/// Records what a series did on one rank: calls, bytes and wall time by phase, and on request every event. The time of
/// a phase excludes the phases inside it. Local; several threads may use it at once.
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
    double begin = 0, seconds = 0;       ///< wall time since the trace began; includes inner phases
    double own_seconds = 0;              ///< without inner phases
    bool background = false;             ///< in the thread of asynchronous writing
    std::array<std::uint8_t, 6> outer{}; ///< the enclosing phases, outermost first
    std::uint8_t depth = 0;              ///< number of enclosing phases
  };

  Total total(Phase phase) const;
  /// From now on, keeps every event in addition to the totals.
  void keep_events();
  std::vector<Event> events() const;
  /// Sets the step that the calling thread works on.
  static void set_step(std::int64_t index);
  /// Marks the calling thread as the background thread.
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

/// Measures a phase for the lifetime of this object. `bytes`: the bytes that the phase moves.
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
