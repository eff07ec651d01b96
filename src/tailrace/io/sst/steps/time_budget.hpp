#pragma once

#include <algorithm>

namespace tailrace::io {

/// Limits what something costs to a share of the time. It is an account: that share of the elapsed time is paid in, and
/// the cost is taken out. The balance is bounded, so that no burst follows a pause. Local.
class TimeBudget {
public:
  explicit TimeBudget(double share) : share_(share) {}

  /// Both in seconds, from the beginning until now.
  void update(double elapsed, double spent) {
    account_ += share_ * (elapsed - elapsed_) - (spent - spent_);
    account_ = std::min(account_, std::max(share_ * longest_saving, 2 * last_));
    elapsed_ = elapsed;
    spent_ = spent;
  }
  /// Whether the balance covers one more like the last. The first is always affordable, because its cost is not known.
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
