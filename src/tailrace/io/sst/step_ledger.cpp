#include <tailrace/io/sst/step_ledger.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr std::string_view unread = "unread", skipped = "skipped";

} // namespace

void StreamRecords::list(const StepInfo &step, const char *why) {
  // ADIOS2's own losses are learnt of later: by index all the same.
  auto place = list_.end();
  while (place != list_.begin() && std::prev(place)->index > step.index)
    --place;
  list_.insert(place, {step.index, step.time, why});
  if (list_.size() > most_listed)
    list_.pop_front();
  ++(why == unread ? unread_ : why == skipped ? skipped_ : dropped_);
}

void StreamRecords::left_out(const StepInfo &step, const char *why) {
  list(step, why);
  if (why != unread) // there was nobody to miss it
    pending_.add(step.index);
}

std::int64_t StreamRecords::give(const StepInfo &step) {
  recent_.push_back({++given_, step, pending_});
  pending_.clear();
  if (recent_.size() > most_recent)
    recent_.pop_front();
  return given_;
}

void StreamRecords::lost_between(std::int64_t after, std::int64_t before) {
  for (auto &one : recent_)
    if (one.number > after && one.number < before && !one.lost) {
      one.lost = true; // several readers tell the same
      list(one.step, "dropped");
    }
}

json StreamRecords::recent() const {
  json result = json::array();
  for (std::size_t i = recent_.size() - std::min(recent_.size(), most_told); i < recent_.size(); ++i)
    result.push_back({recent_[i].number, recent_[i].step.index, recent_[i].before.to_json()});
  return result;
}

std::int64_t StreamRecords::count(const char *why) const {
  return why == unread ? unread_ : why == skipped ? skipped_ : dropped_;
}

void MissedSteps::take(const json &recent) {
  before_ = number_;
  number_ = recent.back().at(0);
  since_.clear();
  if (before_ == 0)
    return;
  std::int64_t untold = number_ - before_ - 1; // ADIOS2's own losses that are too long ago to be listed
  for (const json &one : recent) {
    const std::int64_t number = one.at(0);
    if (number <= before_)
      continue;
    since_.add(IndexRuns::from_json(one.at(2)));
    if (number < number_) {
      since_.add(one.at(1).get<std::int64_t>());
      --untold;
    }
  }
  all_ += since_.count() + untold;
}

} // namespace tailrace::io
