#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace tailrace::io {

/// Growing step indices in little memory: runs of equal distance, which is what the steps of a simulation are. After
/// `most_runs` runs indices are counted only. Local.
class IndexRuns {
public:
  static constexpr std::size_t most_runs = 1000, most_listed = 1'000'000;

  void add(std::int64_t index);
  void add(const IndexRuns &later);
  void clear() { *this = {}; }
  std::int64_t count() const { return count_; } ///< of all, also those that are not listed
  std::vector<std::int64_t> list() const;       ///< at most `most_listed`

  nlohmann::json to_json() const; ///< [count, [first, distance, count], ...]
  /// Throws when it is not what to_json makes.
  static IndexRuns from_json(const nlohmann::json &text);

private:
  struct Run {
    std::int64_t first = 0, distance = 0, count = 0;
  };
  void add(const Run &run);
  std::vector<Run> runs_;
  std::int64_t count_ = 0;
};

} // namespace tailrace::io
