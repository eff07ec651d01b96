// Used by the tests: checks that a series contains what the examples write, for any number of ranks.
//   check PATH FIRST, where FIRST is the index of the first point: 0 in C, 1 in Fortran
#include <tailrace/io/series.hpp>

#include <cstdio>
#include <string>

using namespace tailrace;
using namespace tailrace::grid;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int wrong = argc == 3 ? 0 : 1;
  {
    const io::Series in(argv[1], io::Mode::read, Communicator(MPI_COMM_WORLD));
    const std::int64_t first = std::stoi(argv[2]);
    wrong += in.steps().size() == 3 ? 0 : 1;
    for (std::size_t step = 0; step < in.steps().size(); ++step) {
      const std::int64_t index = in.steps()[step].index;
      wrong += index == static_cast<std::int64_t>(step) + 1 && in.steps()[step].time == 0.25 * index ? 0 : 1;
      wrong += in.variable(step, "ux").shape == Index3{9, 7, 5} ? 0 : 1;
      wrong += static_cast<int>(in.verify(step).size());
      std::vector<double> ux(9 * 7 * 5);
      in.read(step, "ux", {{0, 0, 0}, {9, 7, 5}}, ux.data());
      auto value = ux.begin();
      for (std::int64_t z = 0; z < 5; ++z)
        for (std::int64_t y = 0; y < 7; ++y)
          for (std::int64_t x = 0; x < 9; ++x)
            wrong += *value++ == static_cast<double>(x + 10 * y + 100 * z + 111 * first + 1000 * index) ? 0 : 1;
    }
  }
  std::printf("%s: %s\n", argv[1], wrong ? "not what the examples write" : "as written");
  return MPI_Finalize() || wrong;
}
