// Writes a series: a field that is shared by the ranks, in nine steps, with its grid.
//
//   mpiexec -n 2 1_write_cpp waves.h5     or waves.bp, waves.sion, or waves: the ending of the path selects the format
//   tailrace info waves.h5                shows what is in it
//   tailrace plot waves.h5 --field ux --step 3 -o 1_write.png

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>

#include <cmath>
#include <numbers>

using namespace tailrace;

void write(const std::string &path) {
  const Communicator world(MPI_COMM_WORLD);
  const grid::Index3 points{32, 24, 16}; // in x, y, z
  const double dx = 2 * std::numbers::pi / 32, dy = 2 * std::numbers::pi / 24, dz = 2 * std::numbers::pi / 16;

  // Each rank has some planes of the box: a Box is the index of its first point, and its number of points. x is fastest
  // in memory. A program with its own decomposition fills such boxes itself.
  const grid::Decomposition shared(std::make_shared<grid::ProcessGrid>(world, 1, world.size()), points);
  const grid::Box mine = shared.box(grid::Pencil::x);
  std::vector<double> ux(static_cast<std::size_t>(mine.size()));

  // The grid is optional. With it, ParaView knows where the points are, and analyses can compute derivatives.
  io::Options options;
  options.grid = {.points = points, .spacing = {dx, dy, dz}};
  io::Series out(path, io::Mode::write, world, options);
  out.set_attribute("lengths", std::vector<double>(3, 2 * std::numbers::pi));
  out.set_attribute("boundaries", "periodic,periodic,periodic");
  out.set_attribute("ux/units", "m/s");

  for (int step = 0; step < 9; ++step) {
    const double time = 0.5 * step;
    auto value = ux.begin();
    for (auto k = mine.start[2]; k < mine.start[2] + mine.count[2]; ++k)
      for (auto j = mine.start[1]; j < mine.start[1] + mine.count[1]; ++j)
        for (auto i = mine.start[0]; i < mine.start[0] + mine.count[0]; ++i)
          *value++ = std::exp(-time / 4) * (std::sin(dx * i - time) * std::cos(dy * j) + std::cos(dz * k) / 2);
    out.begin_step(10 * step, time);                  // the number of the time step in the simulation, and its time
    out.write("ux", ux.data(), {points, mine, mine}); // the whole, the part, and what the array has (see 4_more_data)
    out.end_step();                                   // the step is complete, whatever happens to the program later
  }
  out.close();
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  write(argc > 1 ? argv[1] : "waves.h5");
  return MPI_Finalize();
}
