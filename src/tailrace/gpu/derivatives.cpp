#include <tailrace/gpu/derivatives.hpp>

#include <tailrace/flow/equations/flow_equations.hpp>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {

/// A derivative of a line, in its place.
template <class T, Operation operation> struct Derive {
  static constexpr int inputs = 1, outputs = 1, buffers = 1;
  int points;
  Sides sides;
  Parity parity;
  const LaneSystem<T> *system, *slope;
  const T *curvature; ///< null where the line is not stretched, or the derivative the first

  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &lines) const {
    const PaddedLine<T, rows> line = lines[0];
    fill_ghosts([&](int g) { fill_ghost<T>(line, points, sides, parity, false, g); });
    Warp::sync();
    PerLane<LaneRows<T, rows>> x;
    solve<T, operation>(*system, line, x);
    if (operation == Operation::second_derivative && curvature != nullptr) {
      PerLane<LaneRows<T, rows>> first;
      solve<T, Operation::first_derivative>(*slope, line, first);
      Warp::each([&](int lane) {
        TAILRACE_UNROLL
        for (int j = 0; j < rows; ++j)
          if (const int at = lane * rows + j; at < points)
            x[lane].row[j] += curvature[at] * first[lane].row[j];
      });
    }
    put(x, line, points);
  }
};

} // namespace

template <class T>
auto Derivatives<T>::make(const device::Stream &stream, const OperatorEquations &equations) -> Operator {
  const LineEquations &slope = equations.slope ? *equations.slope : equations.system;
  Operator made{Systems<T>(stream, {&equations.system, &slope}), {}};
  if (equations.slope)
    made.curvature = device::Array<T>(stream, std::vector<T>(equations.curvature.begin(), equations.curvature.end()));
  return made;
}

template <class T>
Derivatives<T>::Derivatives(const device::Stream &stream, const Grid &grid, const Hyperviscosities &hyperviscosity,
                            const Decomposition &nodes)
    : stream_(stream), grid_(grid), nodes_(nodes.box(Pencil::x).count), z_nodes_(nodes.box(Pencil::z).count),
      exchange_(stream, nodes) {
  for (int d = 0; d < 3; ++d) {
    const double h = grid.spacing(d);
    const CompactScheme schemes[] = {compact_scheme(Operation::first_derivative, h),
                                     compact_scheme(Operation::second_derivative, h),
                                     flow::diffusion_scheme(h, hyperviscosity[d])};
    for (std::size_t kind = 0; kind < 3; ++kind)
      for (const Parity parity : {Parity::odd, Parity::even})
        operators_[kind][static_cast<std::size_t>(d)][parity == Parity::even ? 1 : 0] =
            make(stream, OperatorEquations(schemes[kind], grid, d, parity));
  }
  if (!exchange_.is_free()) {
    z_in_ = device::Array<T>(stream, z_nodes_.size());
    z_out_ = device::Array<T>(stream, z_nodes_.size());
  }
}

template <class T>
template <Operation operation>
void Derivatives<T>::sweep(const Operator &of, Parity parity, int d, const T *in, T *out) {
  const Derive<T, operation> stage{
      static_cast<int>(grid_.nodes[d]), grid_.boundaries[d], parity, of.systems[0], of.systems[1], of.curvature.data()};
  const Layout &layout = d == 2 ? z_nodes_ : nodes_;
  if (d == 0)
    sweep_rows<T>(stream_, layout, layout, stage, {in}, Store<T>{{out}});
  else
    sweep_columns<T>(stream_, d, layout, layout, stage, {in}, Store<T>{{out}});
}

template <class T> void Derivatives<T>::operator()(Kind kind, int i, int d, const T *component, T *out) {
  const Parity parity = i == d ? Parity::odd : Parity::even;
  const Operator &of =
      operators_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(d)][parity == Parity::even ? 1 : 0];
  // The exchange reads its input only, but returns the same pointer where no data move.
  const T *in = d == 2 ? exchange_.move(Pencil::y, Pencil::z, const_cast<T *>(component), z_in_.data()) : component;
  T *const result = d == 2 && !exchange_.is_free() ? z_out_.data() : out;
  kind == Kind::first ? sweep<Operation::first_derivative>(of, parity, d, in, result)
                      : sweep<Operation::second_derivative>(of, parity, d, in, result);
  if (d == 2)
    exchange_.move(Pencil::z, Pencil::y, result, out);
}

template class Derivatives<float>;
template class Derivatives<double>;

} // namespace tailrace::gpu
