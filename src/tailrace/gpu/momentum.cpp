#include <tailrace/gpu/momentum.hpp>

namespace tailrace::gpu {

using namespace grid;
using namespace ops;

namespace {

/// Completes the right-hand side, f += value + forces, and integrates in time: u += w[0] f + w[1] past[0] + w[2]
/// past[1].
template <class T> struct Integrate {
  T *f[3], *u[3];
  const T *past[2][3]; ///< older right-hand sides, as many as are not null
  T weights[3];
  const T *force[3]; ///< null if there is no such force
  bool forced;       ///< by `steady`
  flow::SteadyForce<T> steady[3];

  /// `before`: the velocity at the point, the component itself first, and the others in cyclic order.
  TAILRACE_LANES void operator()(int k, std::int64_t at, T value, const T (&before)[3]) const {
    T newest = f[k][at] + value;
    if (forced)
      newest += steady[k](before[0], before[1], before[2]);
    if (force[k] != nullptr)
      newest += force[k][at];
    T next = before[0] + weights[0] * newest;
    TAILRACE_UNROLL
    for (int age = 0; age < 2; ++age)
      if (past[age][k] != nullptr)
        next += weights[age + 1] * past[age][k][at];
    f[k][at] = newest;
    u[k][at] = next;
  }
};

/// The x part of the momentum equation: its results beside the velocity, which the integration needs.
template <class T, int rows> struct IntegrateRows {
  using Lines = detail::RowBlock<T, rows, 4>;
  Lines lines;
  Convect<T> stage;
  Integrate<T> finish;
  std::int64_t row, plane;

  TAILRACE_LANES void operator()(device::Place place, void *shared) const {
    lines.each_line(place, shared, [&](const LineMemory<T, rows> &memory, int y, int z) {
      const std::int64_t start = y * row + z * plane;
      TAILRACE_UNROLL
      for (int k = 0; k < 3; ++k)
        detail::load_row<T>(memory[k], finish.u[k] + start, stage.points);
      Warp::sync();
      stage.begin(memory);
      TAILRACE_UNROLL
      for (int k = 0; k < 3; ++k) {
        PerLane<LaneRows<T, rows>> sum;
        stage.part(k, memory, sum);
        put(sum, memory[3], stage.points);
        Warp::sync();
        Warp::each([&](int lane) {
          for (int j = lane; j < stage.points; j += warp_lanes)
            finish(k, start + j, memory[3][j], {memory[k][j], memory[(k + 1) % 3][j], memory[(k + 2) % 3][j]});
        });
      }
    });
  }
};

} // namespace

template <class T>
Momentum<T>::Momentum(const device::Stream &stream, const Grid &grid, double viscosity,
                      const Hyperviscosities &hyperviscosity, const Decomposition &nodes)
    : stream_(stream), grid_(grid), nodes_(nodes.box(Pencil::x).count), z_nodes_(nodes.box(Pencil::z).count),
      exchange_(stream, nodes) {
  if (!exchange_.is_free()) {
    z_velocity_ = components<T>(stream, z_nodes_.size());
    z_part_ = components<T>(stream, z_nodes_.size());
  }
  for (int d = 0; d < 3; ++d) {
    const flow::MomentumEquations normal = flow::momentum_equations(grid, d, viscosity, hyperviscosity[d], Parity::odd);
    const flow::MomentumEquations tangential =
        flow::momentum_equations(grid, d, viscosity, hyperviscosity[d], Parity::even);
    systems_[d] = Systems<T>(stream, {&normal.gradient, &normal.flux, &normal.diffusion, &tangential.gradient,
                                      &tangential.flux, &tangential.diffusion});
    if (const std::vector<double> slope = flow::momentum_slope(grid, d, viscosity); !slope.empty())
      slopes_[d] = device::Array<T>(stream, std::vector<T>(slope.begin(), slope.end()));
  }
}

template <class T> Convect<T> Momentum<T>::along(int d) const {
  const Systems<T> &s = systems_[d];
  return {d,
          static_cast<int>(grid_.nodes[d]),
          grid_.boundaries[d],
          {s[0], s[1], s[2]},
          {s[3], s[4], s[5]},
          slopes_[d].data()};
}

template <class T> void Momentum<T>::begin(const Components<T> &u, const Components<T> &newest) {
  const auto in = exchange_.move(Pencil::y, Pencil::z, pointers(u), pointers(z_velocity_));
  const auto out = pointers(exchange_.is_free() ? newest : z_part_);
  sweep_columns<T>(stream_, 2, z_nodes_, z_nodes_, along(2), {in[0], in[1], in[2]}, Store<T>{{out[0], out[1], out[2]}});
  exchange_.move(Pencil::z, Pencil::y, out, pointers(newest));
  sweep_columns<T>(stream_, 1, nodes_, nodes_, along(1), {u[0].data(), u[1].data(), u[2].data()},
                   Add<T>{{newest[0].data(), newest[1].data(), newest[2].data()}});
}

template <class T>
void Momentum<T>::integrate(const flow::Stage &stage, double dt, const flow::SteadyForces &forces,
                            const Components<T> *force, Components<T> &u, Components<T> &newest,
                            const std::array<const Components<T> *, 2> &past) const {
  Integrate<T> finish{{newest[0].data(), newest[1].data(), newest[2].data()},
                      {u[0].data(), u[1].data(), u[2].data()},
                      {},
                      {static_cast<T>(stage.weights[0] * dt)},
                      {},
                      forces.any(),
                      {{forces, 0}, {forces, 1}, {forces, 2}}};
  for (std::size_t k = 0; k < 3; ++k) {
    finish.force[k] = force != nullptr ? (*force)[k].data() : nullptr;
    for (std::size_t age = 0; age + 1 < stage.weights.size(); ++age) {
      finish.weights[age + 1] = static_cast<T>(stage.weights[age + 1] * dt);
      finish.past[age][k] = (*past[age])[k].data();
    }
  }
  with_rows(grid_.nodes[0], [&](auto rows) {
    using Body = IntegrateRows<T, rows>;
    const int count = static_cast<int>(nodes_.shape[1] * nodes_.shape[2]), lines = Body::Lines::lines;
    const Body body{{static_cast<int>(grid_.nodes[1]), count}, along(0), finish, nodes_.row, nodes_.plane};
    device::launch<Body::Lines::threads>(stream_, {(count + lines - 1) / lines, 1}, Body::Lines::bytes, body);
  });
}

template class Momentum<float>;
template class Momentum<double>;

} // namespace tailrace::gpu
