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
  const bool whole = nodes.is_free(Pencil::x, Pencil::y);
  sum_ = Buffer<T>(whole ? box_.count[0] * box_.count[1] : box_.size());
}

template <class T>
void ImplicitDiffusion<T>::find_changes(Faces<T> &faces, std::array<Field<T>, 3> &u, double duration) {
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

template <class T>
void ImplicitDiffusion<T>::advance(int i, const Step &step, Exchange<T> &nodes, const Quantity &component) {
  advance(velocity_[i == 1], viscosity_, {&changes_[i][0], &changes_[i][1]}, step, nodes, component);
}

template <class T>
void ImplicitDiffusion<T>::advance(Scalar<T> &scalar, std::size_t number, const Step &step, Exchange<T> &nodes,
                                   const Quantity &quantity) {
  advance(scalars_[number], scalar.options().diffusivity, {scalar.change(false), scalar.change(true)}, step, nodes,
          quantity);
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

template <class T>
void ImplicitDiffusion<T>::advance(ImplicitLines<T> &lines, double diffusivity, const Changes &changes,
                                   const Step &step, Exchange<T> &nodes, const Quantity &q) {
  const double whole_share = diffusivity * step.stage.share() * step.dt;
  lines.prepare(whole_share, step.implicit * whole_share);
  const Weights<T> weights(step.stage, step.dt);
  const std::int64_t plane = box_.count[0] * box_.count[1];
  if (nodes.is_free(Pencil::x, Pencil::y)) {
    const Lines along_y = Lines::along(1, {box_.count[0], box_.count[1], 1});
    for (std::int64_t k = 0; k < box_.count[2]; ++k) {
      auto past = q.past;
      for (int age = 0; age < weights.older; ++age)
        past[static_cast<std::size_t>(age)] += k * plane;
      weights.add_up(q.newest + k * plane, past, sum_.data(), plane);
      give(lines, changes, sum_.data(), k, 1);
      lines.sweep(along_y, q.values + k * plane, sum_.data(), AddTo<T, 1>{{q.values + k * plane}});
    }
    return;
  }
  const T *values = q.in_y ? q.values_y : nodes.move(Pencil::x, Pencil::y, q.values, q.values_y);
  weights.add_up(q.newest, q.past, sum_.data(), box_.size());
  give(lines, changes, sum_.data(), 0, box_.count[2]);
  T *sum = nodes.move(Pencil::x, Pencil::y, sum_.data(), q.sum_y);
  lines.sweep(Lines::along(1, nodes.decomposition().box(Pencil::y).count), values, sum, StoreTo<T, 1>{{sum}});
  const T *change = nodes.move(Pencil::y, Pencil::x, sum, sum_.data());
  for (std::int64_t at = 0; at < box_.size(); ++at)
    q.values[at] += change[at];
}

template class ImplicitDiffusion<float>;
template class ImplicitDiffusion<double>;

} // namespace tailrace::flow
