#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/sst/steps/index_ranges.hpp>
#include <tailrace/io/types.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <deque>
#include <vector>

namespace tailrace::io {

/// The writer's list of the steps of a stream that went out, and that did not, in bounded memory. Local, for rank 0.
class StepLedger {
public:
  void left_out(const StepInfo &step, const char *why);
  /// The next step that goes out; returns its number, from 1.
  std::int64_t give(const StepInfo &step);
  std::int64_t given() const { return given_; }
  /// ADIOS2 itself has left out the steps with numbers between these two.
  void lost_between(std::int64_t after, std::int64_t before);

  /// The last steps that went out, each with what was left out before it: [[number, index, runs], ...].
  nlohmann::json recent() const;
  std::vector<LeftOut> all() const { return {list_.begin(), list_.end()}; } ///< the last `most_listed`
  std::int64_t count(const char *why) const;

  static constexpr std::size_t most_listed = 100'000;

private:
  static constexpr std::size_t most_recent = 64, most_sent = 8;
  struct Given {
    std::int64_t number = 0;
    StepInfo step;
    IndexRanges before;
    bool lost = false;
  };
  void list(const StepInfo &step, const char *why);

  std::int64_t given_ = 0;
  std::deque<Given> recent_;
  IndexRanges pending_; ///< left out since the last step that went out
  std::deque<LeftOut> list_;
  std::int64_t dropped_ = 0, skipped_ = 0, unread_ = 0;
};

} // namespace tailrace::io
