// Every scheme for the lanes of a warp, in both precisions and with every number of rows: tests/gpu/compile.sh looks at
// what the compiler makes of it. Nothing here is run.
#include <tailrace/ops/lanes/lane_solver.hpp>

using namespace tailrace::ops;

namespace {

template <class T, Operation op, int pairs, int rows>
__global__ void solve_one(const LaneSystem<T> *system, const T *in, T *out) {
  __shared__ T memory[PaddedLine<T, rows>::room];
  const PaddedLine<T, rows> line(memory);
  Warp::each([&](int lane) {
    for (int j = lane - line_ghosts; j < system->points_in + line_ghosts; j += warp_lanes)
      line[j] = in[j];
  });
  Warp::sync();
  PerLane<LaneRows<T, rows>> x;
  solve_line<T, op, pairs>(*system, line, x);
  Warp::each([&](int lane) {
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j)
      if (lane * rows + j < system->points_out)
        out[lane * rows + j] = x[lane].row[j];
  });
}

} // namespace

template <class T> void solve(const LaneSystem<T> &system, const LaneSystem<T> *on_device, const T *in, T *out) {
  with_rows_per_lane(system.rows, [&](auto rows) {
    with_scheme(system.operation, system.pair_count, [&](auto scheme) {
      solve_one<T, decltype(scheme)::operation, decltype(scheme)::pairs, decltype(rows)::value>
          <<<1, warp_lanes>>>(on_device, in, out);
    });
  });
}

template void solve(const LaneSystem<float> &, const LaneSystem<float> *, const float *, float *);
template void solve(const LaneSystem<double> &, const LaneSystem<double> *, const double *, double *);
