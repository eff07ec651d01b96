#pragma once

#include <tailrace/io/coupling.hpp>

#include <algorithm>
#include <chrono>

namespace tailrace::io {

/// Where a reader's time goes, step by step: waiting for the step, moving it, and the rest, which is its own work.
/// Local.
class ReaderClock {
public:
  using Clock = std::chrono::steady_clock;

  /// The stream is open: from now on the time counts.
  void begin() { begun_ = asked_ = Clock::now(); }
  bool running() const { return begun_ != Clock::time_point{}; }
  /// The step of before is left, and the next one asked for.
  void ask() {
    if (!looking_)
      return;
    looking_ = false;
    asked_ = Clock::now();
    step_.compute = std::max(0.0, seconds(got_, asked_) - step_.transfer);
  }
  /// It is there.
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
  /// Of all steps that are over; `elapsed` until now.
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
