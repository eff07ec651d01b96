#include <tailrace/io/sst/steps/missed_steps.hpp>

#include <tailrace/io/data/json.hpp>

namespace tailrace::io {

using nlohmann::json;

void MissedSteps::take(const json &recent) {
  before_ = number_;
  number_ = whole_number(recent.back().at(0));
  since_.clear();
  if (before_ == 0)
    return;
  std::int64_t unlisted = number_ - before_ - 1; // left out by ADIOS2, too long ago to be in the list
  for (const json &one : recent) {
    const std::int64_t number = whole_number(one.at(0));
    if (number <= before_)
      continue;
    since_.add(IndexRanges::from_json(one.at(2)));
    if (number < number_) {
      since_.add(whole_number(one.at(1)));
      --unlisted;
    }
  }
  all_ += since_.count() + unlisted;
}

} // namespace tailrace::io
