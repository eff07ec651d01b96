#pragma once

#include <tailrace/io/sst/steps/index_ranges.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace tailrace::io {

/// The steps that a reader of a stream has missed, from the data in the steps that it gets. Local.
class MissedSteps {
public:
  /// `recent` comes with each step. Throws a JSON exception when it is not what StepLedger::recent makes.
  void take(const nlohmann::json &recent);
  std::int64_t number() const { return number_; }     ///< of the current step
  std::int64_t before() const { return before_; }     ///< of the one before; 0: there was none
  const IndexRanges &since() const { return since_; } ///< missed between the two
  std::int64_t all() const { return all_; }           ///< the number of all missed steps

private:
  std::int64_t number_ = 0, before_ = 0, all_ = 0;
  IndexRanges since_;
};

} // namespace tailrace::io
