#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace tailrace::io {

/// Growing step indices in little memory: ranges of equal distance, as the output steps of a simulation have. After
/// `most_ranges` ranges, indices are counted but not listed. Local.
class IndexRanges {
public:
  static constexpr std::size_t most_ranges = 1000, most_listed = 1'000'000;

  void add(std::int64_t index);
  void add(const IndexRanges &later);
  void clear() { *this = {}; }
  std::int64_t count() const { return count_; } ///< of all indices, listed or not
  std::vector<std::int64_t> list() const;       ///< at most `most_listed`

  nlohmann::json to_json() const; ///< [count, [first, distance, count], ...]
  /// Throws a JSON exception when it is not what to_json makes.
  static IndexRanges from_json(const nlohmann::json &text);

private:
  struct Range {
    std::int64_t first = 0, distance = 0, count = 0;
  };
  void add(const Range &range);
  std::vector<Range> ranges_;
  std::int64_t count_ = 0;
};

} // namespace tailrace::io
