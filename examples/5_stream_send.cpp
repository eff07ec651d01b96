// Sends steps to another program while both run. Nothing is stored. Start the two in any order:
//
//   mpiexec -n 2 5_stream_send_cpp sst:waves &
//   mpiexec -n 1 python 5_stream_receive.py sst:waves     or: tailrace analyse YOUR_SCRIPT.py sst:waves

#include <tailrace/io/series.hpp>

#include <cmath>
#include <numbers>

using namespace tailrace;

void send(const std::string &path) {
  const Communicator world(MPI_COMM_WORLD);
  const grid::Index3 points{32, 24, 16};
  const double dx = 2 * std::numbers::pi / 32, dy = 2 * std::numbers::pi / 24, dz = 2 * std::numbers::pi / 16;
  const std::int64_t first = 16 * world.rank() / world.size(), last = 16 * (world.rank() + 1) / world.size();
  const grid::Box mine{{0, 0, first}, {32, 24, last - first}}; // the planes of this rank
  std::vector<double> ux(static_cast<std::size_t>(mine.size()));

  // The first step waits up to 30 s for a receiver, which then gets all steps. policy says what happens when it is
  // slower than we are: "block" makes us wait, "drop_oldest", "drop_newest" and "adapt" leave steps out.
  io::Options options;
  options.parameters = {{"wait_for_reader", "30"}, {"policy", "block"}};
  options.grid = {.points = points, .spacing = {dx, dy, dz}};
  io::Series out(path, io::Mode::write, world, options);
  out.set_attribute("lengths", std::vector<double>(3, 2 * std::numbers::pi));
  out.set_attribute("boundaries", "periodic,periodic,periodic");
  for (int step = 0; step < 20; ++step) {
    const double time = 0.25 * step;
    if (out.begin_step(step, time)) { // false: nobody gets this step, and we need not prepare it
      auto value = ux.begin();
      for (auto k = first; k < last; ++k)
        for (int j = 0; j < 24; ++j)
          for (int i = 0; i < 32; ++i)
            *value++ = std::exp(-time / 4) *
                       (std::sin(dx * i - time) * std::cos(dy * j) + std::cos(dz * static_cast<double>(k)) / 2);
      out.write("ux", ux.data(), {points, mine, mine});
    }
    out.end_step();
  }
  out.close();
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  send(argc > 1 ? argv[1] : "sst:waves");
  return MPI_Finalize();
}
