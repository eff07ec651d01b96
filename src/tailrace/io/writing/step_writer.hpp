#pragma once

#include <tailrace/io/writing/step_target.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// Passes steps that are already checked to an engine: converts types, collects the checksums, abandons a step that
/// fails. Runs in the caller's thread or, with asynchronous writing, in the background. Collective over the engine's
/// communicator.
class StepWriter final : public StepTarget {
public:
  /// `replaced`: removed when the first step is complete, where there is one.
  StepWriter(StepSink &sink, const Communicator &comm, Trace &trace, bool checksums, ReplacedSeries *replaced = nullptr)
      : sink_(sink), comm_(comm), trace_(trace), with_checksums_(checksums), replaced_(replaced) {}

  bool begin_step(const StepInfo &step) override;
  void write(Block block, Type given) override;
  void end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) override;
  void abandon_step() noexcept override;

private:
  template <class Work> void in_step(Work work);
  StepBlocks gather_blocks() const;

  StepSink &sink_;
  Communicator comm_;
  Trace &trace_;
  bool with_checksums_;
  ReplacedSeries *replaced_;
  std::vector<char> converted_;
  std::vector<std::string> names_;    ///< of the variables of the open step that have checksums
  std::vector<VariableBlock> blocks_; ///< of this rank
};

} // namespace tailrace::io
