#include <tailrace/flow/time_integration.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace tailrace::flow {

namespace {
constexpr std::array<const char *, 4> names{"euler", "ab2", "ab3", "rk3"};
}

TimeScheme time_scheme_from_name(const std::string &name) {
  const auto *found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw InputError(fmt::format("time scheme '{}' is unknown; choose euler, ab2, ab3 or rk3", name));
  return static_cast<TimeScheme>(found - names.begin());
}

double Stage::share() const { return std::accumulate(weights.begin(), weights.end(), 0.0); }

std::vector<Stage> stages(TimeScheme scheme, long steps_done) {
  const Stage euler{{1}}, ab2{{3.0 / 2, -1.0 / 2}}, ab3{{23.0 / 12, -16.0 / 12, 5.0 / 12}};
  switch (scheme) {
  case TimeScheme::euler:
    return {euler};
  case TimeScheme::ab2:
    return {steps_done == 0 ? euler : ab2};
  case TimeScheme::ab3:
    return {steps_done == 0 ? euler : steps_done == 1 ? ab2 : ab3};
  default:
    return {{{8.0 / 15}}, {{5.0 / 12, -17.0 / 60}}, {{3.0 / 4, -5.0 / 12}}};
  }
}

int stored_right_hand_sides(TimeScheme scheme) {
  return scheme == TimeScheme::euler ? 0 : scheme == TimeScheme::ab3 ? 2 : 1;
}

bool history_outlives_step(TimeScheme scheme) { return scheme == TimeScheme::ab2 || scheme == TimeScheme::ab3; }

} // namespace tailrace::flow
