#include <tailrace/flow/navier_stokes.hpp>

// Forces, a body, and the data for measuring the force on it.

namespace tailrace::flow {

using namespace grid;

namespace {
/// Where plane k of three fields begins.
template <class T> std::array<T *, 3> plane_of(std::array<Field<T>, 3> &fields, std::int64_t k) {
  const Index3 &count = fields[0].box().count;
  const std::int64_t start = k * count[0] * count[1];
  return {fields[0].data() + start, fields[1].data() + start, fields[2].data() + start};
}
} // namespace

/// For linear forcing, which would make any mean velocity grow without end, also one from rounding or from the
/// convection of an unresolved flow.
template <class T> void NavierStokes<T>::find_mean() {
  if (options_.linear != 0)
    for (int i = 0; i < 3; ++i)
      mean_[i] = mean(i);
}

template <class T> void NavierStokes<T>::set_body(const Indicator &inside, int refinement) {
  refuse_on_device("a body");
  if (implicit_)
    throw InputError("a body does not go with implicit diffusion along y, which would need the lines to end at its "
                     "surface; take the diffusion along y explicitly (numerics.implicit_y = false)");
  body_ = std::make_unique<Body<T>>(grid_, nodes_.decomposition(), inside, refinement);
  projection_.set_solid(&body_->mask());
  if (flow_rate_)
    flow_rate_->set_solid(body_->solid());
}

/// Fills the body in plane k with the polynomials along x, from which the time integration continues.
template <class T> void NavierStokes<T>::rebuild(Field<T> &field, std::int64_t k) {
  if (!body_)
    return;
  const Index3 count = field.box().count;
  for (std::int64_t line = k * count[1]; line < (k + 1) * count[1]; ++line)
    body_->along(0).rebuild(line, field.data() + line * count[0], 1);
}

/// Sets velocity and scalars in the body to zero, for outputs between steps. The next stage does not need their values
/// there.
template <class T> void NavierStokes<T>::clear_body() {
  if (!body_)
    return;
  const Index3 count = nodes_.decomposition().box(Pencil::x).count;
  const auto clear = [&](Field<T> &field) {
    for (std::int64_t line = 0; line < count[1] * count[2]; ++line)
      body_->mask().rebuild(line, field.data() + line * count[0], 1);
  };
  for (Field<T> &component : velocity_)
    clear(component);
  for (Scalar<T> &scalar : scalars_)
    clear(scalar.values());
}

template <class T> std::array<Field<T>, 3> NavierStokes<T>::driving() {
  const Box box = nodes_.decomposition().box(Pencil::x);
  Components sum{Field<T>(box), Field<T>(box), Field<T>(box)};
  fetch_all();
  find_mean();
  if (flow_rate_)
    std::ranges::fill(sum[flow_rate_->wanted().direction].values(), static_cast<T>(flow_rate_force()));
  for (std::int64_t k = 0; k < box.count[2]; ++k)
    add_forces(k, plane_of(sum, k));
  return sum;
}

template <class T> std::array<Field<T>, 3> NavierStokes<T>::steady_force() {
  const Box box = nodes_.decomposition().box(Pencil::x);
  Components sum{Field<T>(box), Field<T>(box), Field<T>(box)};
  fetch_all();
  find_mean();
  for (std::int64_t k = 0; k < box.count[2]; ++k)
    add_steady_forces(k, plane_of(sum, k));
  return sum;
}

template <class T> std::array<const T *, 3> NavierStokes<T>::eddy_force() {
  eddies_->update(velocity_, scalars_);
  return {eddies_->force(0), eddies_->force(1), eddies_->force(2)};
}

template <class T> void NavierStokes<T>::keep_mean_pressure() {
  if (stages(options_.scheme, steps_).size() > 1 && impulse_.size() == 0)
    impulse_ = Buffer<T>(projection_.cells().box(Pencil::z).size());
}

template <class T> void NavierStokes<T>::clear_impulse() {
  std::fill_n(impulse_.data(), impulse_.size(), T{});
  impulse_duration_ = 0;
}

/// Adds the impulse of the pressure of a stage, from the last projection.
template <class T> void NavierStokes<T>::add_impulse(double duration) {
  if (impulse_.size() == 0)
    return;
  Buffer<T> cells(impulse_.size());
  last_potential(cells.data());
  for (std::int64_t i = 0; i < cells.size(); ++i)
    impulse_[i] += cells[i];
  impulse_duration_ += duration;
}

template <class T> void NavierStokes<T>::mean_pressure(T *nodes) {
  const bool kept = impulse_duration_ > 0;
  if (!kept || last_share_ == 0)
    return pressure(nodes);
  Buffer<T> cells(impulse_.size());
  for (std::int64_t i = 0; i < cells.size(); ++i)
    cells[i] = impulse_[i] / static_cast<T>(impulse_duration_);
  projection_.to_nodes(cells.data(), nodes);
}

template void NavierStokes<float>::find_mean();
template void NavierStokes<float>::set_body(const Indicator &, int);
template void NavierStokes<float>::rebuild(Field<float> &, std::int64_t);
template void NavierStokes<float>::clear_body();
template std::array<Field<float>, 3> NavierStokes<float>::driving();
template std::array<Field<float>, 3> NavierStokes<float>::steady_force();
template std::array<const float *, 3> NavierStokes<float>::eddy_force();
template void NavierStokes<float>::keep_mean_pressure();
template void NavierStokes<float>::clear_impulse();
template void NavierStokes<float>::add_impulse(double);
template void NavierStokes<float>::mean_pressure(float *);
template void NavierStokes<double>::find_mean();
template void NavierStokes<double>::set_body(const Indicator &, int);
template void NavierStokes<double>::rebuild(Field<double> &, std::int64_t);
template void NavierStokes<double>::clear_body();
template std::array<Field<double>, 3> NavierStokes<double>::driving();
template std::array<Field<double>, 3> NavierStokes<double>::steady_force();
template std::array<const double *, 3> NavierStokes<double>::eddy_force();
template void NavierStokes<double>::keep_mean_pressure();
template void NavierStokes<double>::clear_impulse();
template void NavierStokes<double>::add_impulse(double);
template void NavierStokes<double>::mean_pressure(double *);

} // namespace tailrace::flow
