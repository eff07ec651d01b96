#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/sst/options.hpp>
#include <tailrace/io/sst/reader_table.hpp>
#include <tailrace/io/sst/step_ledger.hpp>
#include <tailrace/io/sst/time_budget.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// What becomes of a step, or is to be done before that is asked again.
enum class Fate : std::int64_t {
  taken,    ///< it goes to ADIOS2
  held,     ///< it is copied, until there is room for it
  left_out, ///< nobody gets it
  unread,   ///< nor those that are held: there is nobody
  admit,    ///< first let a reader in
  hand_over ///< first give the oldest that is held
};

/// Decides what becomes of the steps of a stream, and keeps the book of it. Local, for rank 0 of the writer.
class StreamGate {
public:
  StreamGate(const Target &target, const SstOptions &options);

  int port() const { return readers_.channels().port(); } ///< of the control channel
  const std::string &token() const { return token_; }     ///< by which readers know that it is this stream's
  StreamRecords &records() { return records_; }

  /// Whether a reader wants to be admitted, or is there, before the time is up.
  bool somebody_until(std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end) const;
  /// `tried`: a reader was to be admitted for this step already; `held`: there are steps that are held. Under the
  /// policy `block` it waits.
  Fate decide(const StepInfo &step, bool tried, bool held);
  bool has_room();
  /// Waits for readers, and drops those that make no progress for the `timeout`; `step` is for people. The first
  /// returns whether there is a reader.
  bool wait_for_room(std::int64_t step);
  void wait_for_all(std::int64_t step);
  /// See StreamReaders.
  bool rescue(int call, std::int64_t step) { return readers_.rescue(call, had_time_, step); }
  void given(); ///< a step has gone out
  void end();

  CouplingSide own_side() const;
  Coupling coupling() const;

private:
  Fate decide_by_policy(const StepInfo &step, bool held);
  std::int64_t most() const;
  void meter(std::chrono::steady_clock::time_point begin);
  double spent() const;
  double waited() const { return trace_.total(Phase::wait).seconds; }

  const Trace &trace_;
  SstOptions options_;
  std::string token_;
  StreamReaders readers_;
  StreamRecords records_;
  CostShare budget_;
  CouplingSide own_;                                                 ///< who it is
  std::int64_t had_time_ = 0;                                        ///< steps that readers have had time for
  std::optional<std::chrono::steady_clock::time_point> met_, ended_; ///< the first reader; the end
  double met_spent_ = 0, met_waited_ = 0;                            ///< seconds until then
  std::optional<double> metered_; ///< seconds spent before the last step that was taken
};

} // namespace tailrace::io
