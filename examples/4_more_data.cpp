// Writes more than fields: arrays with ghost points, planes, every n-th point, particles, numbers and texts.
//
//   mpiexec -n 2 4_more_data_cpp more.h5
//   tailrace info more.h5 --minmax

#include <tailrace/io/series.hpp>

#include <cmath>
#include <numbers>

using namespace tailrace;

void write(const std::string &path) {
  const Communicator world(MPI_COMM_WORLD);
  const grid::Index3 points{32, 24, 16};
  const std::int64_t first = 16 * world.rank() / world.size(), last = 16 * (world.rank() + 1) / world.size();
  const double pi = std::numbers::pi, dx = 2 * pi / 32, dy = 2 * pi / 24, dz = 2 * pi / 16;
  const grid::Box mine{{0, 0, first}, {32, 24, last - first}};
  const grid::Box memory{{0, 0, first - 1}, {32, 24, last - first + 2}}; // with a ghost plane on both sides
  std::vector<double> ux(static_cast<std::size_t>(memory.size()));

  io::Options options;
  options.grid = {.points = points, .spacing = {dx, dy, dz}};
  io::Series out(path, io::Mode::write, world, options);
  out.set_attribute("particles/columns", "number, x, y, z");
  for (int step = 0; step < 5; ++step) {
    const double time = 0.5 * step;
    auto value = ux.begin();
    for (auto k = first - 1; k < last + 1; ++k)
      for (int j = 0; j < 24; ++j)
        for (int i = 0; i < 32; ++i)
          *value++ = std::sin(dx * i + time) * std::cos(dy * j) + dz * static_cast<double>(k);
    std::vector<double> particles; // each rank has its own number of them
    for (int number = 0; number < 100; ++number) {
      const double helix = 2 * pi * (number + 0.5) / 100;
      if (helix >= static_cast<double>(first) * dz && helix < static_cast<double>(last) * dz)
        particles.insert(particles.end(),
                         {double(number), pi + std::cos(helix + time), pi + std::sin(helix + time), helix});
    }

    out.begin_step(step, time);
    const io::Placement place{points, mine, memory}; // only `mine` is written, without a copy
    out.write("ux", ux.data(), place);
    // A region is every stride-th point from `start`, `count` of them; only these points are stored.
    out.write_region("plane", ux.data(), place, {.start = {0, 0, 8}, .count = {32, 24, 1}});
    out.write_region("coarse", ux.data(), place, {.count = {16, 12, 8}, .stride = {2, 2, 2}});
    out.write_list("particles", particles.data(), std::ssize(particles) / 4, 4); // rows in the order of the ranks
    out.write_scalar("phase", std::cos(time));
    out.write_scalar("note", "this is step " + std::to_string(step));
    out.end_step();
  }
  out.close();
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  write(argc > 1 ? argv[1] : "more.h5");
  return MPI_Finalize();
}
