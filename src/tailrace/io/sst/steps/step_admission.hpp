#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/sst/sst_options.hpp>
#include <tailrace/io/sst/control/reader_table.hpp>
#include <tailrace/io/sst/steps/step_ledger.hpp>
#include <tailrace/io/sst/steps/time_budget.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// What happens to a step, or what must be done before the decision.
enum class StepDecision : std::int64_t {
  taken,    ///< it goes to ADIOS2
  held,     ///< it is copied and held until the readers have room for it
  left_out, ///< nobody gets it
  unread,   ///< there is no reader: nobody gets it, nor the steps that are held
  let_in,   ///< let the hosts of a reader in, then decide
  admit,    ///< admit a reader, then decide
  hand_over ///< give the oldest held step to ADIOS2, then decide
};

/// Decides what happens to the steps of a stream, and records it in a ledger. Local, for rank 0 of the writer.
class StepAdmission {
public:
  StepAdmission(const OpenRequest &request, const SstOptions &options);

  const ReaderChannels &channel() const { return readers_.channels(); }
  const std::string &token() const { return token_; } ///< a reader of this stream sends it on the channel
  StepLedger &ledger() { return ledger_; }

  /// Waits until a reader is there or has to be let in or admitted; `unread` when `end` comes first.
  StepDecision await_reader(std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end);
  /// Tells readers that all ranks let them in, and waits for a moment until one is there.
  void welcome();
  /// `tried`: an admission was tried for this step already; `held`: there are held steps. Under the policy `block` it
  /// waits for room.
  StepDecision decide(const StepInfo &step, bool tried, bool held);
  bool has_room();
  /// Wait for readers, and drop those that make no progress for the `timeout`; the message about it names `step`. The
  /// first returns whether there is a reader.
  bool wait_for_room(std::int64_t step);
  void wait_for_all(std::int64_t step);
  /// See ReaderTable.
  bool admitted_since(std::uint64_t before) { return readers_.admitted_since(before, ledger_.given()); }
  bool rescue(int call, std::int64_t step) { return readers_.rescue(call, counted_, step); }
  void note_given(); ///< a step has gone out
  void end();

  CouplingSide own_side() const;
  Coupling coupling() const;

private:
  StepDecision decide_by_policy(const StepInfo &step, bool held);
  std::int64_t most() const;
  void meter(std::chrono::steady_clock::time_point begin);
  double spent() const;
  double waited() const { return trace_.total(Phase::wait).seconds; }

  const Trace &trace_;
  SstOptions options_;
  std::string token_;
  ReaderTable readers_;
  StepLedger ledger_;
  TimeBudget budget_;
  CouplingSide own_;         ///< ranks, host and process
  std::int64_t counted_ = 0; ///< steps that readers have had time to do
  std::optional<std::chrono::steady_clock::time_point> met_,
      ended_;                             ///< when the first reader came, and the stream ended
  double met_spent_ = 0, met_waited_ = 0; ///< spent and waited before `met_`
  std::optional<double> metered_;         ///< seconds spent before the last step that was taken
};

} // namespace tailrace::io
