#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <cstddef>
#include <exception>
#include <optional>

namespace tailrace::io {

/// Takes steps that are already checked: an engine in the caller's thread (StepWriter), or the background
/// (AsyncWriter). Functions are collective, those of the background local but for `check`.
class StepTarget {
public:
  virtual ~StepTarget() = default;
  StepTarget() = default;
  StepTarget(const StepTarget &) = delete;
  StepTarget &operator=(const StepTarget &) = delete;

  /// Whether it works in the background: then its errors come later, and no call waits for other ranks.
  virtual bool is_background() const { return false; }
  /// Returns whether the step is taken; if not, it is over.
  virtual bool begin_step(const StepInfo &step) = 0;
  /// `block.type` is the type to store, `given` that of the data.
  virtual void write(Block block, Type given) = 0;
  /// `attributes`: all attributes of the series, if they have changed.
  virtual void end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) = 0;
  virtual void abandon_step() noexcept = 0;
  /// The open step must not be written, for a reason that only this rank may have; end_step is called as usual. Only
  /// for the background, where the ranks agree later.
  virtual void spoil_step(std::exception_ptr /*reason*/) {}
  /// Throws the error of the background, if it has one, on all ranks. With `all`, waits first until every step has been
  /// written. Collective.
  virtual void check(bool /*all*/) {}
  /// How many steps were lost by the last error that was thrown; afterwards 0. Local.
  virtual std::size_t take_lost() { return 0; }
};

} // namespace tailrace::io
