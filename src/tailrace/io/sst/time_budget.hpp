#pragma once

#include <algorithm>

namespace tailrace::io {

/// Keeps what something costs to a share of the time: an account into which that share of the passing time is paid, and
/// from which the cost is taken. What can be saved up is bounded, so that no burst follows a pause. Local.
class CostShare {
public:
  explicit CostShare(double share) : share_(share) {}

  /// Both in seconds, of all the time until now.
  void update(double elapsed, double spent) {
    account_ += share_ * (elapsed - elapsed_) - (spent - spent_);
    account_ = std::min(account_, std::max(share_ * longest_saving, 2 * last_));
    elapsed_ = elapsed;
    spent_ = spent;
  }
  /// Whether there is enough for one more like the last. The first is always affordable, for nobody knows what it
  /// costs.
  bool affordable() const { return first_ || account_ >= last_; }
  void note_cost(double seconds) {
    first_ = false;
    last_ = seconds;
  }

private:
  static constexpr double longest_saving = 10; ///< seconds
  double share_, account_ = 0, elapsed_ = 0, spent_ = 0, last_ = 0;
  bool first_ = true;
};

} // namespace tailrace::io
