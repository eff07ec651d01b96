#pragma once

#include <string>
#include <vector>

namespace tailrace::flow {

/// Explicit schemes for du/dt = F(u).
enum class TimeScheme { euler, ab2, ab3, rk3 };

/// From "euler", "ab2", "ab3" or "rk3"; throws InputError for any other name.
TimeScheme time_scheme_from_name(const std::string &name);

/// u += dt * sum of weights[k] * F(k stages ago); weights[0] multiplies the newest.
struct Stage {
  std::vector<double> weights;
  /// The share of the time step that this stage covers, which is the time for which its pressure acts.
  double share() const;
};

/// The stages of one step. `steps_done` counts steps since the start of the run: Adams-Bashforth starts with the lower
/// orders, since the earlier right-hand sides do not exist yet. RK3 is the low-storage scheme of Williamson (1980) as
/// used by Spalart, Moser and Rogers (1991): 8/15; 5/12, -17/60; 3/4, -5/12.
std::vector<Stage> stages(TimeScheme scheme, long steps_done);

/// How many earlier right-hand sides the scheme needs, and whether it needs them also in the next step, so that
/// checkpoints must hold them.
int stored_right_hand_sides(TimeScheme scheme);
bool history_outlives_step(TimeScheme scheme);

} // namespace tailrace::flow
