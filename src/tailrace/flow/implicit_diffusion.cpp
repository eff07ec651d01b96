#include <tailrace/flow/implicit_diffusion.hpp>

#include <tailrace/flow/stage_weights.hpp>
#include <tailrace/support/error.hpp>

namespace tailrace::flow {

using namespace grid;
using namespace ops;

namespace {
template <class T>
ImplicitLines<T> make_lines(const Grid &grid, const std::optional<Hyperviscosity> &hyperviscosity, const Sides &sides,
                            Parity parity) {
  if (grid.periodic(1))
    throw InputError("implicit diffusion along y is for a y between walls or free-slip ends, but y is periodic; take "
                     "the diffusion along y explicitly (numerics.implicit_y = false)");
  std::vector<double> squared = grid.metric(1);
  for (double &value : squared)
    value *= value;
  return {diffusion_scheme(grid.spacing(1), hyperviscosity), grid.nodes[1], sides, parity, squared};
}
} // namespace

template <class T>
ImplicitDiffusion<T>::ImplicitDiffusion(const Grid &grid, double viscosity,
                                        const std::optional<Hyperviscosity> &hyperviscosity,
                                        const std::vector<ScalarOptions> &scalars, const Exchange<T> &nodes)
    : viscosity_(viscosity), box_(nodes.decomposition().box(Pencil::x)), nodes_y_(grid.nodes[1]),
      velocity_{make_lines<T>(grid, hyperviscosity, grid.boundaries[1], Parity::even),
                make_lines<T>(grid, hyperviscosity, grid.boundaries[1], Parity::odd)} {
  for (const ScalarOptions &scalar : scalars)
    scalars_.push_back(make_lines<T>(grid, hyperviscosity, scalar.boundaries[1], Parity::even));
  for (auto &component : changes_)
    for (const bool upper : {false, true})
      component[upper] = Field<T>(face_box(grid, box_, 1, upper));
  for (Field<T> &gradient : gradient_)
    gradient = Field<T>(box_);
  const bool whole = nodes.is_free(Pencil::x, Pencil::y);
  sum_ = Buffer<T>(whole ? box_.count[0] * box_.count[1] : box_.size());
}

template <class T>
void ImplicitDiffusion<T>::find_changes(BoundaryFaces<T> &faces, std::array<Field<T>, 3> &u, double duration) {
  const auto visit = [&](auto work) {
    for (const bool upper : {false, true})
      for (int i = 0; i < 3; ++i) {
        T *change = changes_[i][upper].data(), *values = u[i].data();
        for_nodes(faces.at(1, upper), box_, 0,
                  [&](std::int64_t here, std::int64_t at) { work(change[here], values[at]); });
      }
  };
  visit([](T &before, T value) { before = value; });
  faces.impose(u, duration); // again after the stage: other values than those at the ends of y do not count here
  visit([](T &change, T &value) {
    const T before = change;
    change = value - before;
    value = before;
  });
}

template <class T> void ImplicitDiffusion<T>::remember(const std::array<Field<T>, 3> &u) {
  for (int i = 0; i < 3; ++i)
    std::copy_n(u[i].data(), u[i].size(), gradient_[i].data());
}

template <class T> void ImplicitDiffusion<T>::keep_gradient(const std::array<Field<T>, 3> &u, double duration) {
  const T inverse = static_cast<T>(1 / duration);
  for (int i = 0; i < 3; ++i) {
    T *gradient = gradient_[i].data();
    const T *after = u[i].data();
    for (std::int64_t at = 0; at < u[i].size(); ++at)
      gradient[at] = inverse * (gradient[at] - after[at]);
  }
}

template <class T>
void ImplicitDiffusion<T>::advance(int i, const Step &step, Exchange<T> &nodes, const Quantity &component) {
  const T *gradient = step.implicit > 0 ? gradient_[i].data() : nullptr;
  advance(velocity_[i == 1], viscosity_, {&changes_[i][0], &changes_[i][1]}, gradient, step, nodes, component);
}

template <class T>
void ImplicitDiffusion<T>::advance(Scalar<T> &scalar, std::size_t number, const Step &step, Exchange<T> &nodes,
                                   const Quantity &quantity) {
  advance(scalars_[number], scalar.options().diffusivity, {scalar.change(false), scalar.change(true)}, nullptr, step,
          nodes, quantity);
}

/// Replaces the sums at ends where the change is given, in planes k .. k + planes of this rank.
template <class T>
void ImplicitDiffusion<T>::give(const ImplicitLines<T> &lines, const Changes &changes, T *sum, std::int64_t k,
                                std::int64_t planes) {
  const std::int64_t row = box_.count[0], plane = row * box_.count[1];
  for (const bool upper : {false, true}) {
    const bool here = upper ? box_.end(1) == nodes_y_ : box_.start[1] == 0;
    if (!lines.given(upper) || !here || box_.count[1] == 0)
      continue;
    for (std::int64_t p = 0; p < planes; ++p)
      std::copy_n(changes[upper]->data() + (k + p) * row, row, sum + p * plane + (upper ? plane - row : 0));
  }
}

namespace {
/// The gradient that is subtracted from the sums and added to the changes; the same functions for all decompositions.
template <class T> struct Offset {
  const T *gradient; ///< null: nothing
  T duration;

  void take(T *sum, std::int64_t start, std::int64_t count) const {
    for (std::int64_t at = 0; at < count && gradient != nullptr; at += lanes<T>) {
      const int used = static_cast<int>(std::min<std::int64_t>(lanes<T>, count - at));
      store(sum + at, load(sum + at, used) - duration * load(gradient + start + at, used), used);
    }
  }
  void add(T *values, std::int64_t at, Vec<T> change, int used) const {
    if (gradient != nullptr)
      change += duration * load(gradient + at, used);
    store(values + at, load(values + at, used) + change, used);
  }
};
} // namespace

template <class T>
void ImplicitDiffusion<T>::advance(ImplicitLines<T> &lines, double diffusivity, const Changes &changes,
                                   const T *gradient, const Step &step, Exchange<T> &nodes, const Quantity &q) {
  const double duration = step.stage.share() * step.dt;
  lines.prepare(diffusivity * duration, step.implicit * diffusivity * duration);
  const Weights<T> weights(step.stage, step.dt);
  const Offset<T> offset{gradient, static_cast<T>(duration)};
  const auto add_up = [&](std::int64_t first, std::int64_t planes) {
    const std::int64_t plane = box_.count[0] * box_.count[1], start = first * plane, count = planes * plane;
    auto past = q.past;
    for (int age = 0; age < weights.older; ++age)
      past[static_cast<std::size_t>(age)] += start;
    weights.add_up(q.newest + start, past, sum_.data(), count);
    give(lines, changes, sum_.data(), first, planes);
    offset.take(sum_.data(), start, count);
    return start;
  };
  if (nodes.is_free(Pencil::x, Pencil::y)) {
    const Lines along_y = Lines::along(1, {box_.count[0], box_.count[1], 1});
    for (std::int64_t k = 0; k < box_.count[2]; ++k) {
      const std::int64_t start = add_up(k, 1);
      lines.sweep(along_y, q.values + start, sum_.data(), [&](int, std::int64_t at, Vec<T> change, int used) {
        offset.add(q.values, start + at, change, used);
      });
    }
    return;
  }
  const T *values = q.in_y ? q.values_y : nodes.move(Pencil::x, Pencil::y, q.values, q.values_y);
  add_up(0, box_.count[2]);
  T *sum = nodes.move(Pencil::x, Pencil::y, sum_.data(), q.sum_y);
  lines.sweep(Lines::along(1, nodes.decomposition().box(Pencil::y).count), values, sum, StoreTo<T, 1>{{sum}});
  const T *change = nodes.move(Pencil::y, Pencil::x, sum, sum_.data());
  for (std::int64_t at = 0; at < box_.size(); at += tailrace::lanes<T>) {
    const int used = static_cast<int>(std::min<std::int64_t>(tailrace::lanes<T>, box_.size() - at));
    offset.add(q.values, at, load(change + at, used), used);
  }
}

template class ImplicitDiffusion<float>;
template class ImplicitDiffusion<double>;

} // namespace tailrace::flow
