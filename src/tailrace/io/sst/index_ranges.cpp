#include <tailrace/io/sst/index_ranges.hpp>

#include <nlohmann/json.hpp>

namespace tailrace::io {

using nlohmann::json;

void IndexRuns::add(std::int64_t index) { add(Run{index, 0, 1}); }

void IndexRuns::add(const IndexRuns &later) {
  std::int64_t unlisted = later.count_;
  for (const Run &run : later.runs_) {
    add(run);
    unlisted -= run.count;
  }
  count_ += unlisted;
}

void IndexRuns::add(const Run &run) {
  count_ += run.count;
  if (!runs_.empty()) {
    Run &last = runs_.back();
    const std::int64_t distance = run.first - (last.first + (last.count - 1) * last.distance);
    if ((last.count == 1 || last.distance == distance) && (run.count == 1 || run.distance == distance)) {
      last.distance = distance;
      last.count += run.count;
      return;
    }
  }
  if (runs_.size() < most_runs)
    runs_.push_back(run);
}

std::vector<std::int64_t> IndexRuns::list() const {
  std::vector<std::int64_t> result;
  for (const Run &run : runs_)
    for (std::int64_t i = 0; i < run.count && result.size() < most_listed; ++i)
      result.push_back(run.first + i * run.distance);
  return result;
}

json IndexRuns::to_json() const {
  json result = json::array({count_});
  for (const Run &run : runs_)
    result.push_back({run.first, run.distance, run.count});
  return result;
}

IndexRuns IndexRuns::from_json(const json &text) {
  IndexRuns result;
  result.count_ = text.at(0);
  for (std::size_t number = 1; number < text.size(); ++number)
    result.runs_.push_back({text[number].at(0), text[number].at(1), text[number].at(2)});
  return result;
}

} // namespace tailrace::io
