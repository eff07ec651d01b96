#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/sst/index_ranges.hpp>
#include <tailrace/io/types.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace tailrace::io {

/// The book of a stream's writer: which steps went out, and which did not. In bounded memory. Local, for rank 0.
class StreamRecords {
public:
  void left_out(const StepInfo &step, const char *why);
  /// The next step that goes out; returns its number, from 1.
  std::int64_t give(const StepInfo &step);
  std::int64_t given() const { return given_; }
  /// ADIOS2 has left out by itself what lies between two numbers.
  void lost_between(std::int64_t after, std::int64_t before);

  /// The last steps that went out, each with what was left out before it: [[number, index, runs], ...].
  nlohmann::json recent() const;
  std::vector<LeftOut> all() const { return {list_.begin(), list_.end()}; } ///< the last `most_listed`
  std::int64_t count(const char *why) const;

  static constexpr std::size_t most_listed = 100'000;

private:
  static constexpr std::size_t most_recent = 64, most_told = 8;
  struct Given {
    std::int64_t number = 0;
    StepInfo step;
    IndexRuns before;
    bool lost = false;
  };
  void list(const StepInfo &step, const char *why);

  std::int64_t given_ = 0;
  std::deque<Given> recent_;
  IndexRuns pending_; ///< left out since the last that was given
  std::deque<LeftOut> list_;
  std::int64_t dropped_ = 0, skipped_ = 0, unread_ = 0;
};

/// The same, as one of its readers learns it.
class MissedSteps {
public:
  /// `recent` of the step that has come. Throws when it is not what StreamRecords::recent makes.
  void take(const nlohmann::json &recent);
  std::int64_t number() const { return number_; } ///< of the current step
  std::int64_t before() const { return before_; } ///< of the one before; 0: there was none
  const IndexRuns &since() const { return since_; }
  std::int64_t all() const { return all_; }

private:
  std::int64_t number_ = 0, before_ = 0, all_ = 0;
  IndexRuns since_;
};

} // namespace tailrace::io
