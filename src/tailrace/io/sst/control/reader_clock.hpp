#pragma once

#include <tailrace/io/coupling.hpp>

#include <algorithm>
#include <chrono>

namespace tailrace::io {

/// What a reader spends its time on, step by step: waiting for the step, transferring it, and its own work, which is
/// the rest. Local.
class ReaderClock {
public:
  using Clock = std::chrono::steady_clock;

  /// The stream is open: the time counts from now on.
  void begin() { begun_ = asked_ = Clock::now(); }
  bool running() const { return begun_ != Clock::time_point{}; }
  /// The current step is released, and the next one requested.
  void ask() {
    if (!looking_)
      return;
    looking_ = false;
    asked_ = Clock::now();
    step_.compute = std::max(0.0, seconds(got_, asked_) - step_.transfer);
  }
  /// The requested step has come.
  void got() {
    total_.wait += step_.wait;
    total_.transfer += step_.transfer;
    total_.compute += step_.compute;
    step_ = {};
    looking_ = true;
    got_ = Clock::now();
    step_.wait = seconds(asked_, got_);
  }
  void moved(double seconds) { step_.transfer += seconds; }
  const CouplingSide &step() const { return step_; } ///< compute, wait and transfer of the current step
  /// Of all steps so far; `elapsed` until now.
  CouplingSide total() const {
    CouplingSide all = total_;
    all.wait += step_.wait;
    all.transfer += step_.transfer;
    all.compute += step_.compute;
    all.elapsed = running() ? seconds(begun_, Clock::now()) : 0;
    return all;
  }

private:
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  Clock::time_point begun_, asked_, got_;
  bool looking_ = false; ///< at a step
  CouplingSide step_, total_;
};

} // namespace tailrace::io
