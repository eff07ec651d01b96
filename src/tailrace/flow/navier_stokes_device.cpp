#include <tailrace/flow/equations/node_rate.hpp>
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>

// Where a device computes the stages.

namespace tailrace::flow {

using namespace grid;

/// Makes the values here those of now; the next stage takes them from here, because the caller may change them.
template <class T> void NavierStokes<T>::fetch_velocity() {
  for (int i = 0; i < 3 && !velocity_here_; ++i)
    device_->get_velocity(i, velocity_[i].data());
  velocity_here_ = true;
}

template <class T> void NavierStokes<T>::fetch_history() {
  const int ages = stored_right_hand_sides(options_.scheme);
  for (int age = 1; age <= ages && !history_here_; ++age)
    for (int i = 0; i < 3; ++i)
      device_->get_history(age, i, right_hand_sides_[(newest_ + age - 1) % right_hand_sides_.size()][i].data());
  history_here_ = true;
}

/// Throws InputError where a device computes, which does not know `what` yet.
template <class T> void NavierStokes<T>::refuse_on_device(const char *what) const {
  if (device_)
    throw InputError(
        fmt::format("{} does not go with a device yet; compute on the processor (numerics.device = \"cpu\")", what));
}

template <class T> void NavierStokes<T>::advance_on_device(const Stage &stage, double dt) {
  for (int i = 0; i < 3 && velocity_here_; ++i)
    device_->put_velocity(i, velocity_[i].data());
  const int ages = history_here_ ? static_cast<int>(stage.weights.size()) - 1 : 0;
  for (int age = 1; age <= ages; ++age)
    for (int i = 0; i < 3; ++i)
      device_->put_history(age, i, history(age, i).data());
  for (int i = 0; i < 3 && force_[i].size() > 0; ++i)
    device_->put_force(i, force_[i].data());
  velocity_here_ = history_here_ = false;
  device_->advance(stage, dt, steady_forces());
}

/// Makes the planes at the ends where a velocity is given those of now, so many at each end.
template <class T> void NavierStokes<T>::fetch_ends(int depth) {
  if (!velocity_here_)
    for (int d = 0; d < 3; ++d)
      for (const bool upper : {false, true})
        if ((upper ? grid_.boundaries[d].upper : grid_.boundaries[d].lower) == Boundary::dirichlet)
          device_->get_end(d, upper, depth, pointers(velocity_));
}

/// Gives the device the planes at these ends.
template <class T> void NavierStokes<T>::put_ends() {
  if (!velocity_here_)
    for (int d = 0; d < 3; ++d)
      for (const bool upper : {false, true})
        if ((upper ? grid_.boundaries[d].upper : grid_.boundaries[d].lower) == Boundary::dirichlet)
          device_->put_end(d, upper, 1, pointers(velocity_));
}

/// The mean of component i; see mean_velocity.
template <class T> double NavierStokes<T>::mean(int i) const {
  if (velocity_here_)
    return mean_velocity(grid_, nodes_.decomposition(), velocity_[i]);
  const std::vector<double> sums = device_->sums_of_rows(i, row_weights(grid_));
  const std::int64_t rows = nodes_.decomposition().box(Pencil::x).count[1];
  return mean_of_rows(grid_, nodes_.decomposition(),
                      [&](std::int64_t y, std::int64_t z) { return sums[static_cast<std::size_t>(y + rows * z)]; });
}

/// 1 / h_d at this rank's nodes.
template <class T> std::array<std::vector<double>, 3> NavierStokes<T>::inverse_distances() const {
  const Box box = nodes_.decomposition().box(Pencil::x);
  std::array<std::vector<double>, 3> inverse;
  for (int d = 0; d < 3; ++d) {
    const std::vector<double> distances = grid_.distances(d);
    for (std::int64_t node = box.start[d]; node < box.end(d); ++node)
      inverse[static_cast<std::size_t>(d)].push_back(1 / distances[static_cast<std::size_t>(node)]);
  }
  return inverse;
}

template <class T> double NavierStokes<T>::rate() const {
  const auto inverse = inverse_distances();
  double largest = 0;
  if (velocity_here_) {
    const T *x = velocity_[0].data(), *y = velocity_[1].data(), *z = velocity_[2].data();
    for (const double inverse_z : inverse[2])
      for (const double inverse_y : inverse[1])
        for (const double inverse_x : inverse[0])
          largest = std::max(largest, node_rate(*x++, *y++, *z++, inverse_x, inverse_y, inverse_z));
  } else {
    for (const double of_row : device_->rates_of_rows(inverse))
      largest = std::max(largest, of_row);
  }
  return nodes_.decomposition().comm().max(largest);
}

template <class T> void NavierStokes<T>::shift(int i, T by) {
  if (!velocity_here_)
    return device_->shift(i, by);
  for (T &each : velocity_[i].values())
    each += by;
}

template <class T> void NavierStokes<T>::remove_divergence() {
  device_ ? device_->project() : projection_(pointers(velocity_));
}

template <class T> void NavierStokes<T>::last_potential(T *cells) {
  device_ ? device_->potential(cells) : projection_.potential(cells);
}

template void NavierStokes<float>::fetch_velocity();
template void NavierStokes<float>::fetch_history();
template void NavierStokes<float>::refuse_on_device(const char *) const;
template void NavierStokes<float>::fetch_ends(int);
template void NavierStokes<float>::put_ends();
template double NavierStokes<float>::mean(int) const;
template std::array<std::vector<double>, 3> NavierStokes<float>::inverse_distances() const;
template double NavierStokes<float>::rate() const;
template void NavierStokes<float>::shift(int, float);
template void NavierStokes<float>::advance_on_device(const Stage &, double);
template void NavierStokes<float>::remove_divergence();
template void NavierStokes<float>::last_potential(float *);
template void NavierStokes<double>::fetch_velocity();
template void NavierStokes<double>::fetch_history();
template void NavierStokes<double>::refuse_on_device(const char *) const;
template void NavierStokes<double>::fetch_ends(int);
template void NavierStokes<double>::put_ends();
template double NavierStokes<double>::mean(int) const;
template std::array<std::vector<double>, 3> NavierStokes<double>::inverse_distances() const;
template double NavierStokes<double>::rate() const;
template void NavierStokes<double>::shift(int, double);
template void NavierStokes<double>::advance_on_device(const Stage &, double);
template void NavierStokes<double>::remove_divergence();
template void NavierStokes<double>::last_potential(double *);

} // namespace tailrace::flow
