#include <tailrace/io/sst/steps/index_ranges.hpp>

#include <tailrace/io/data/json.hpp>

namespace tailrace::io {

using nlohmann::json;

void IndexRanges::add(std::int64_t index) { add(Range{index, 0, 1}); }

void IndexRanges::add(const IndexRanges &later) {
  std::int64_t unlisted = later.count_;
  for (const Range &range : later.ranges_) {
    add(range);
    unlisted -= range.count;
  }
  count_ += unlisted;
}

void IndexRanges::add(const Range &range) {
  count_ += range.count;
  if (!ranges_.empty()) {
    Range &last = ranges_.back();
    const std::int64_t distance = range.first - (last.first + (last.count - 1) * last.distance);
    if ((last.count == 1 || last.distance == distance) && (range.count == 1 || range.distance == distance)) {
      last.distance = distance;
      last.count += range.count;
      return;
    }
  }
  if (ranges_.size() < most_ranges)
    ranges_.push_back(range);
}

std::vector<std::int64_t> IndexRanges::list() const {
  std::vector<std::int64_t> result;
  for (const Range &range : ranges_)
    for (std::int64_t i = 0; i < range.count && result.size() < most_listed; ++i)
      result.push_back(range.first + i * range.distance);
  return result;
}

json IndexRanges::to_json() const {
  json result = json::array({count_});
  for (const Range &range : ranges_)
    result.push_back({range.first, range.distance, range.count});
  return result;
}

IndexRanges IndexRanges::from_json(const json &text) {
  IndexRanges result;
  result.count_ = whole_number(text.at(0));
  for (std::size_t number = 1; number < text.size(); ++number) {
    const json &range = text[number];
    result.ranges_.push_back({whole_number(range.at(0)), whole_number(range.at(1)), whole_number(range.at(2))});
  }
  return result;
}

} // namespace tailrace::io
