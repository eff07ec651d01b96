#include <tailrace/io/sst/steps/step_ledger.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr std::string_view unread = "unread", skipped = "skipped";

} // namespace

void StepLedger::list(const StepInfo &step, const char *why) {
  // What ADIOS2 left out is known only later: keep the list in the order of the indices.
  auto place = list_.end();
  while (place != list_.begin() && std::prev(place)->index > step.index)
    --place;
  list_.insert(place, {step.index, step.time, why});
  if (list_.size() > most_listed)
    list_.pop_front();
  ++(why == unread ? unread_ : why == skipped ? skipped_ : dropped_);
}

void StepLedger::left_out(const StepInfo &step, const char *why) {
  list(step, why);
  if (why != unread) // there was no reader to miss it
    pending_.add(step.index);
}

std::int64_t StepLedger::give(const StepInfo &step) {
  recent_.push_back({++given_, step, pending_});
  pending_.clear();
  if (recent_.size() > most_recent)
    recent_.pop_front();
  return given_;
}

void StepLedger::lost_between(std::int64_t after, std::int64_t before) {
  for (auto &one : recent_)
    if (one.number > after && one.number < before && !one.lost) {
      one.lost = true; // several readers may report the same step
      list(one.step, "dropped");
    }
}

json StepLedger::recent() const {
  json result = json::array();
  for (std::size_t i = recent_.size() - std::min(recent_.size(), most_sent); i < recent_.size(); ++i)
    result.push_back({recent_[i].number, recent_[i].step.index, recent_[i].before.to_json()});
  return result;
}

std::int64_t StepLedger::count(const char *why) const {
  return why == unread ? unread_ : why == skipped ? skipped_ : dropped_;
}

} // namespace tailrace::io
