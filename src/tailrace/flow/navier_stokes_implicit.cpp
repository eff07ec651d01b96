#include <tailrace/flow/navier_stokes.hpp>

// The part of a stage that is special for implicit diffusion along y.

namespace tailrace::flow {

using namespace grid;

/// The time integration by the finished right-hand sides, with the implicit diffusion. Without scalars it is that of
/// `pressure`: all of the diffusion is that of the present velocity.
template <class T> void NavierStokes<T>::diffuse(const Stage &stage, double dt, Components &rhs, bool with_scalars) {
  if (!implicit_)
    return;
  const typename ImplicitDiffusion<T>::Step step{stage, dt, with_scalars ? 0.5 : 0};
  const auto older = [&](const auto &history_of) { // only those that exist
    std::array<const T *, 2> past{};
    for (std::size_t age = 0; age + 1 < stage.weights.size(); ++age)
      past[age] = history_of(static_cast<int>(age) + 2);
    return past;
  };
  implicit_->find_changes(faces_, velocity_, stage.share() * dt);
  for (int i = 0; i < 3; ++i)
    implicit_->advance(i, step, nodes_,
                       {velocity_[i].data(), rhs[i].data(), older([&](int age) { return history(age, i).data(); }),
                        y_pencil_[i].data(), y_sum_[i].data(), true});
  for (std::size_t number = 0; number < scalars_.size() && with_scalars; ++number) {
    Scalar<T> &scalar = scalars_[number];
    implicit_->advance(scalar, number, step, nodes_,
                       {scalar.values().data(), scalar.history(1).data(),
                        older([&](int age) { return scalar.history(age).data(); }), scalar_y_.data(), y_sum_[0].data(),
                        false});
    scalar.clip(scalar.values().data(), scalar.values().size());
  }
}

template void NavierStokes<float>::diffuse(const Stage &, double, Components &, bool);
template void NavierStokes<double>::diffuse(const Stage &, double, Components &, bool);

} // namespace tailrace::flow
