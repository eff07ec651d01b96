#include <tailrace/flow/scalar.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::flow {

using namespace grid;

namespace {

Grid with_boundaries(const Grid &grid, const Boundaries &boundaries) {
  for (int d = 0; d < 3; ++d)
    if (boundaries[d].periodic() != grid.periodic(d))
      throw InputError(fmt::format("a scalar is {} in {}, the flow {}; expected both to be periodic, or none",
                                   sides_name(boundaries[d]), "xyz"[d], sides_name(grid.boundaries[d])));
  return {grid.nodes, grid.lengths, boundaries, grid.stretching};
}

} // namespace

template <class T>
Scalar<T>::Scalar(const Grid &grid, const ScalarOptions &options, Exchange<T> &nodes, int stored,
                  const ops::Hyperviscosities &hyperviscosity, bool implicit_y)
    : grid_(with_boundaries(grid, options.boundaries)), options_(options), implicit_y_(implicit_y),
      transports_{
          ScalarTransport<T>(scalar_equations(grid_, 0, options.diffusivity, options.settling[0], hyperviscosity[0])),
          ScalarTransport<T>(
              scalar_equations(grid_, 1, options.diffusivity, options.settling[1], hyperviscosity[1], !implicit_y)),
          ScalarTransport<T>(scalar_equations(grid_, 2, options.diffusivity, options.settling[2], hyperviscosity[2]))},
      right_hand_sides_(static_cast<std::size_t>(stored + 1)) {
  const Box box = nodes.decomposition().box(Pencil::x);
  const bool reachable = nodes.is_free(Pencil::x, Pencil::y); // then the sweeps along z work on these arrays
  const auto allocate = [&](Field<T> &field) { field = reachable ? Field<T>(box, nodes.allocate()) : Field<T>(box); };
  allocate(values_);
  for (Field<T> &field : right_hand_sides_)
    allocate(field);
  for (int d = 0; d < 3; ++d)
    for (const bool upper : {false, true})
      if ((upper ? options.boundaries[d].upper : options.boundaries[d].lower) == Boundary::dirichlet) {
        Face<T> face{d, upper, Boundary::dirichlet, face_box(grid_, box, d, upper), {}, {}};
        face.value[0] = Field<T>(face.box);
        const ScalarEnd kind = options.ends[d][upper];
        if (kind == ScalarEnd::no_flux || kind == ScalarEnd::convected)
          check_neighbours(nodes.decomposition(), d);
        if (implicit_y && d == 1 && kind == ScalarEnd::no_flux)
          throw InputError(fmt::format("implicit diffusion along y does not go with what settles at the {} end of y "
                                       "(deposit); take the diffusion along y explicitly, or let nothing settle there",
                                       upper ? "upper" : "lower"));
        if (implicit_y && d == 1 && kind == ScalarEnd::free)
          throw InputError(fmt::format("implicit diffusion along y does not go with a scalar that is free at the {} "
                                       "end of y; take the diffusion along y explicitly, or give the scalar there",
                                       upper ? "upper" : "lower"));
        Field<T> change = implicit_y && d == 1 ? Field<T>(face.box) : Field<T>();
        ends_.push_back({std::move(face), kind, std::move(change)});
      }
}

template <class T> Field<T> &Scalar<T>::given(int d, bool upper) {
  for (End &end : ends_)
    if (end.face.direction == d && end.face.upper == upper)
      return end.face.value[0];
  throw InputError(
      fmt::format("the scalar has no dirichlet boundary at the {} end of direction {}", upper ? "upper" : "lower", d));
}

template <class T> const Field<T> *Scalar<T>::change(bool upper) const {
  for (const End &end : ends_)
    if (end.face.direction == 1 && end.face.upper == upper)
      return &end.change;
  return nullptr;
}

template <class T> Field<T> &Scalar<T>::begin_stage() {
  newest_ = (newest_ + right_hand_sides_.size() - 1) % right_hand_sides_.size();
  return right_hand_sides_[newest_];
}

template <class T> void Scalar<T>::impose(double duration, double speed) {
  // Where ends meet, a given value counts. At free ends nothing is imposed.
  for (const ScalarEnd kind : {ScalarEnd::convected, ScalarEnd::no_flux, ScalarEnd::given})
    for (End &end : ends_)
      if (end.kind == kind)
        impose(end, duration, speed);
}

template <class T> void Scalar<T>::impose(End &end, double duration, double speed) {
  const Box box = values_.box();
  const int d = end.face.direction;
  T *phi = values_.data();
  const bool later = implicit_y_ && d == 1;
  const auto set = [&](std::int64_t here, std::int64_t at, T value) {
    (later ? end.change.data()[here] : phi[at]) = later ? value - phi[at] : value;
  };
  if (end.kind == ScalarEnd::given) {
    const T *value = end.face.value[0].data();
    for_nodes(end.face, box, 0, [&](std::int64_t here, std::int64_t at) { set(here, at, value[here]); });
    return;
  }
  const std::int64_t stride = d == 0 ? 1 : d == 1 ? box.count[0] : box.count[0] * box.count[1];
  const std::int64_t inwards = end.face.upper ? -stride : stride;
  const std::vector<double> x = grid_.coordinates(d);
  const double distance = end.face.upper ? x[x.size() - 1] - x[x.size() - 2] : x[1] - x[0];
  if (end.kind == ScalarEnd::convected) {
    const T share = static_cast<T>(speed * duration / distance);
    for_nodes(end.face, box, 0, [&](std::int64_t here, std::int64_t at) {
      set(here, at, phi[at] - share * (phi[at] - phi[at + inwards]));
    });
    return;
  }
  // What settles towards the end stays there; elsewhere there is no flux, to first order.
  const double towards = end.face.upper ? options_.settling[d] : -options_.settling[d];
  const double over = options_.deposit_distance > 0 ? options_.deposit_distance : distance;
  const T share = static_cast<T>(towards * duration / over);
  for_nodes(end.face, box, 0, [&](std::int64_t, std::int64_t at) {
    const T next = phi[at + inwards];
    phi[at] = towards > 0 && next > phi[at] ? phi[at] + share * (next - phi[at]) : next;
  });
}

template <class T> void Scalar<T>::clip(T *values, std::int64_t count) const {
  const T least = static_cast<T>(options_.least), most = static_cast<T>(options_.most);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = std::min(std::max(values[i], least), most);
}

template class Scalar<float>;
template class Scalar<double>;

} // namespace tailrace::flow
