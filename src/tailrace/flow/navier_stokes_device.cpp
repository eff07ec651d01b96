#include <tailrace/flow/equations/node_rate.hpp>
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>

// Where a device computes the stages.

namespace tailrace::flow {

using namespace grid;

template <class T> T *NavierStokes<T>::values_of(int field) {
  return field < 3 ? velocity_[field].data() : scalars_[static_cast<std::size_t>(field) - 3].values().data();
}

template <class T> T *NavierStokes<T>::history_of(int age, int field) {
  return field < 3 ? right_hand_sides_[(newest_ + age - 1) % right_hand_sides_.size()][field].data()
                   : scalars_[static_cast<std::size_t>(field) - 3].history(age).data();
}

/// Makes the values here those of now; the next stage takes them from here, because the caller may change them.
template <class T> void NavierStokes<T>::fetch(int field) {
  if (is_here(field))
    return;
  device_->get(field, values_of(field));
  here_[static_cast<std::size_t>(field)] = 1;
}

template <class T> void NavierStokes<T>::fetch_history(int field) {
  if (!device_ || history_here_[static_cast<std::size_t>(field)] != 0)
    return;
  for (int age = 1; age <= std::max(1, stored_right_hand_sides(options_.scheme)); ++age)
    device_->get_history(age, field, history_of(age, field));
  history_here_[static_cast<std::size_t>(field)] = 1;
}

/// Throws InputError where a device computes, which does not know `what` yet.
template <class T> void NavierStokes<T>::refuse_on_device(const char *what) const {
  if (device_)
    throw InputError(
        fmt::format("{} does not go with a device yet; compute on the processor (numerics.device = \"cpu\")", what));
}

/// Gives the device what the caller may have changed, so that all of a stage is computed there: its sums are those of
/// the device, whoever looked at the fields before.
template <class T> void NavierStokes<T>::send() {
  for (std::size_t at = 0; at < here_.size(); ++at) {
    const int field = static_cast<int>(at);
    if (here_[at] != 0)
      device_->put(field, values_of(field));
    for (int age = 1; age <= stored_right_hand_sides(options_.scheme) && history_here_[at] != 0; ++age)
      device_->put_history(age, field, history_of(age, field));
    here_[at] = history_here_[at] = 0;
  }
}

template <class T> void NavierStokes<T>::advance_on_device(const Stage &stage, double dt) {
  for (int i = 0; i < 3 && force_[i].size() > 0; ++i)
    device_->put_force(i, force_[i].data());
  device_->advance(stage, dt, steady_forces());
}

template <class T> Accelerator<T> *NavierStokes<T>::device() {
  for (int i = 0; device_ && i < 3; ++i)
    if (is_here(i)) // the caller may still change what is here
      device_->put(i, velocity_[i].data());
  return device_.get();
}

/// Calls visit(field, direction, upper) for each end at which a value is given to a field that the device has.
template <class T>
template <class Visit>
void NavierStokes<T>::each_given_end(int first, int last, const Visit &visit) {
  for (int field = first; field < last; ++field) {
    const Boundaries &of =
        field < 3 ? grid_.boundaries : scalars_[static_cast<std::size_t>(field) - 3].options().boundaries;
    for (int d = 0; d < 3 && !is_here(field); ++d)
      for (const bool upper : {false, true})
        if ((upper ? of[d].upper : of[d].lower) == Boundary::dirichlet)
          visit(field, d, upper);
  }
}

/// Makes the planes at these ends those of now, so many at each end.
template <class T> void NavierStokes<T>::fetch_ends(int first, int last, int depth) {
  each_given_end(first, last,
                 [&](int field, int d, bool upper) { device_->get_end(field, d, upper, depth, values_of(field)); });
}

/// Gives the device the planes at these ends.
template <class T> void NavierStokes<T>::put_ends(int first, int last) {
  each_given_end(first, last,
                 [&](int field, int d, bool upper) { device_->put_end(field, d, upper, 1, values_of(field)); });
}

/// The mean of component i; see mean_velocity.
template <class T> double NavierStokes<T>::mean(int i) const {
  if (!device_)
    return mean_velocity(grid_, nodes_.decomposition(), velocity_[i]);
  if (is_here(i)) // the caller may still change it
    device_->put(i, velocity_[i].data());
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

template <class T> double NavierStokes<T>::rate() {
  const auto inverse = inverse_distances();
  double largest = 0;
  if (!device_) {
    const T *x = velocity_[0].data(), *y = velocity_[1].data(), *z = velocity_[2].data();
    for (const double inverse_z : inverse[2])
      for (const double inverse_y : inverse[1])
        for (const double inverse_x : inverse[0])
          largest = std::max(largest, node_rate(*x++, *y++, *z++, inverse_x, inverse_y, inverse_z));
  } else {
    for (const double of_row : device()->rates_of_rows(inverse))
      largest = std::max(largest, of_row);
  }
  return nodes_.decomposition().comm().max(largest);
}

template <class T> void NavierStokes<T>::shift(int i, T by) {
  if (!is_here(i))
    return device_->shift(i, by);
  for (T &each : velocity_[i].values())
    each += by;
}

template <class T> void NavierStokes<T>::remove_divergence() {
  if (device_)
    device_->project();
  else if (gathers_planes())
    projection_.solve_gathered(pointers(velocity_));
  else
    projection_(pointers(velocity_));
}

template <class T> void NavierStokes<T>::last_potential(T *cells) {
  device_ ? device_->potential(cells) : projection_.potential(cells);
}

template float *NavierStokes<float>::values_of(int);
template float *NavierStokes<float>::history_of(int, int);
template void NavierStokes<float>::fetch(int);
template void NavierStokes<float>::fetch_history(int);
template void NavierStokes<float>::refuse_on_device(const char *) const;
template void NavierStokes<float>::send();
template Accelerator<float> *NavierStokes<float>::device();
template void NavierStokes<float>::advance_on_device(const Stage &, double);
template void NavierStokes<float>::fetch_ends(int, int, int);
template void NavierStokes<float>::put_ends(int, int);
template double NavierStokes<float>::mean(int) const;
template std::array<std::vector<double>, 3> NavierStokes<float>::inverse_distances() const;
template double NavierStokes<float>::rate();
template void NavierStokes<float>::shift(int, float);
template void NavierStokes<float>::remove_divergence();
template void NavierStokes<float>::last_potential(float *);
template double *NavierStokes<double>::values_of(int);
template double *NavierStokes<double>::history_of(int, int);
template void NavierStokes<double>::fetch(int);
template void NavierStokes<double>::fetch_history(int);
template void NavierStokes<double>::refuse_on_device(const char *) const;
template void NavierStokes<double>::send();
template Accelerator<double> *NavierStokes<double>::device();
template void NavierStokes<double>::advance_on_device(const Stage &, double);
template void NavierStokes<double>::fetch_ends(int, int, int);
template void NavierStokes<double>::put_ends(int, int);
template double NavierStokes<double>::mean(int) const;
template std::array<std::vector<double>, 3> NavierStokes<double>::inverse_distances() const;
template double NavierStokes<double>::rate();
template void NavierStokes<double>::shift(int, double);
template void NavierStokes<double>::remove_divergence();
template void NavierStokes<double>::last_potential(double *);

} // namespace tailrace::flow
