// Reads what 1_write has written: any part of it, on any number of ranks.
//
//   mpiexec -n 3 2_read_cpp waves.h5      prints the mean square of ux

#include <tailrace/io/series.hpp>

#include <cstdio>
#include <numeric>

using namespace tailrace;

void read(const std::string &path) {
  const Communicator world(MPI_COMM_WORLD);
  const io::Series in(path, io::Mode::read, world);
  for (std::size_t step = 0; step < in.steps().size(); ++step) { // a position; steps()[step] has its index and time
    // Each rank reads the box that it needs, whatever the ranks of the writer had: here some rows of all planes.
    const grid::Index3 n = in.variable(step, "ux").shape;
    const std::int64_t first = n[1] * world.rank() / world.size(), last = n[1] * (world.rank() + 1) / world.size();
    const grid::Box rows{{0, first, 0}, {n[0], last - first, n[2]}}; // where it begins, how many points, in x, y, z
    std::vector<double> ux(static_cast<std::size_t>(rows.size()));
    in.read(step, "ux", rows, ux.data()); // floats are converted to doubles, if the file has floats

    double sum = std::inner_product(ux.begin(), ux.end(), ux.begin(), 0.0);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (world.rank() == 0)
      std::printf("step %d, time %g: mean square %.12f\n", static_cast<int>(in.steps()[step].index),
                  in.steps()[step].time, sum / static_cast<double>(grid::product(n)));
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  read(argc > 1 ? argv[1] : "waves.h5");
  return MPI_Finalize();
}
