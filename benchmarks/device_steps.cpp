// Milliseconds of a step on the device of this process, and what its memory copies meanwhile.
//
//   device_steps double|float NX NY NZ periodic|channel STEPS [outputs]      prints a line
//
// periodic: a Taylor-Green vortex; channel: between walls in a stretched y, with a kept flow rate. `outputs`: three
// fields go to the host after each step.

#include <tailrace/device/array.hpp>
#include <tailrace/device/launch.hpp>
#include <tailrace/gpu/flow_on_device.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

constexpr int threads = 8 * ops::warp_lanes;

struct Copy {
  const double *from;
  double *to;
  TAILRACE_LANES void operator()(device::Place place, void *) const {
    ops::Block<threads>::each([&](int thread) {
      const std::int64_t at = std::int64_t{place.x} * threads + thread;
      to[at] = from[at];
    });
  }
};

/// Bytes a second that are read and written when an array is copied.
double copy_rate() {
  const device::Stream stream(0);
  constexpr std::int64_t blocks = 1 << 17, size = blocks * threads;
  const device::Array<double> from(stream, size), to(stream, size);
  std::vector<double> seconds;
  for (int round = 0; round < 11; ++round) {
    stream.wait();
    const double start = now();
    device::launch<threads>(stream, {static_cast<int>(blocks), 1}, 0, Copy{from.data(), to.data()});
    stream.wait();
    seconds.push_back(now() - start);
  }
  return 2 * size * sizeof(double) / median(seconds);
}

/// One stage reads or writes so many arrays at least: z 6, y 9, x 12 or 15; the divergence 6, 5, 3; transforms 2, 4, 2,
/// 4, 2; the gradient 3, 5, 9. Three stages, of which the first has no older right-hand side.
constexpr int arrays_of_step = 3 * (6 + 9 + 15 + 6 + 5 + 3 + 2 + 4 + 2 + 4 + 2 + 3 + 5 + 9) - 3;

template <class T> int measure(const Index3 &n, bool channel, int steps, bool outputs) {
  using enum Boundary;
  const double pi = std::acos(-1.0);
  const Grid grid = channel ? Grid(n, {4 * pi, 2.0, 4 * pi / 3}, std::array<Boundary, 3>{periodic, dirichlet, periodic},
                                   Stretching{Stretching::Where::walls, 0.26})
                            : Grid(n, {2 * pi, 2 * pi, 2 * pi}, std::array<Boundary, 3>{periodic, periodic, periodic});
  const Communicator world(MPI_COMM_WORLD);
  gpu::FlowOnDevice<T> flow(grid, 1.0 / 1600, {}, ops::Interpolation::aggressive, flow::TimeScheme::rk3,
                            std::make_shared<const ProcessGrid>(world, 1, world.size()));
  const std::int64_t points = product(n);
  std::vector<T> field(static_cast<std::size_t>(points));
  for (int i = 0; i < 3; ++i) {
    std::int64_t at = 0;
    for (std::int64_t z = 0; z < n[2]; ++z)
      for (std::int64_t y = 0; y < n[1]; ++y)
        for (std::int64_t x = 0; x < n[0]; ++x) {
          const auto angle = [&](int d, std::int64_t k) {
            return 2 * pi * static_cast<double>(k) / static_cast<double>(n[d]);
          };
          const double a = angle(0, x), b = angle(1, y), c = angle(2, z);
          field[static_cast<std::size_t>(at++)] = static_cast<T>(i == 0   ? std::sin(a) * std::cos(b) * std::cos(c)
                                                                 : i == 1 ? -std::cos(a) * std::sin(b) * std::cos(c)
                                                                          : 0);
        }
    flow.put(i, field.data());
  }
  const double dt = 0.05 * std::min({grid.spacing(0), grid.distances(1)[0], grid.spacing(2)});
  std::vector<double> seconds;
  for (int step = 0; step < steps + 2; ++step) {
    const double start = now();
    for (const flow::Stage &stage : flow::stages(flow::TimeScheme::rk3, step)) {
      if (channel)
        flow.shift(0, static_cast<T>(1e-3)); // as a kept flow rate does
      flow.advance(stage, dt, {});
      flow.project();
    }
    if (outputs)
      for (int i = 0; i < 3; ++i)
        flow.get(i, field.data());
    if (step >= 2)
      seconds.push_back(now() - start);
  }
  flow.get(0, field.data());
  if (!std::all_of(field.begin(), field.end(), [](T value) { return std::isfinite(value); })) {
    std::fprintf(stderr, "the flow is not finite after %d steps\n", steps);
    return 1;
  }
  const double step = median(seconds), rate = copy_rate();
  const double least = arrays_of_step * static_cast<double>(points) * sizeof(T) / rate;
  std::printf("%s: %lld x %lld x %lld %s %s%s, median of %d steps %.3f ms (%.3f to %.3f), %.3f ns a point; copies %.0f "
              "GB/s; share of the copy rate %.2f\n",
              device::name().c_str(), static_cast<long long>(n[0]), static_cast<long long>(n[1]),
              static_cast<long long>(n[2]), sizeof(T) == 8 ? "double" : "float", channel ? "channel" : "periodic",
              outputs ? " with outputs" : "", steps, 1e3 * step,
              1e3 * *std::min_element(seconds.begin(), seconds.end()),
              1e3 * *std::max_element(seconds.begin(), seconds.end()), 1e9 * step / static_cast<double>(points),
              1e-9 * rate, least / step);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const bool known = argc >= 7 && (std::strcmp(argv[1], "double") == 0 || std::strcmp(argv[1], "float") == 0) &&
                     (std::strcmp(argv[5], "periodic") == 0 || std::strcmp(argv[5], "channel") == 0);
  if (!known || std::atoi(argv[6]) < 1) {
    std::fprintf(stderr, "usage: device_steps double|float NX NY NZ periodic|channel STEPS [outputs]\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) {
    std::fprintf(stderr, "device_steps: expected one rank, found %d\n", ranks);
    return 2;
  }
  const Index3 n{std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])};
  const bool channel = std::strcmp(argv[5], "channel") == 0, outputs = argc > 7;
  int status = 1;
  try {
    status = std::strcmp(argv[1], "double") == 0 ? measure<double>(n, channel, std::atoi(argv[6]), outputs)
                                                 : measure<float>(n, channel, std::atoi(argv[6]), outputs);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "device_steps: %s\n", error.what());
  }
  MPI_Finalize();
  return status;
}
