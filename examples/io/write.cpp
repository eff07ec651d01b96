// Writes the steps of a field that is split between the ranks, and reads the last plane on every rank.
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>

using namespace tailrace;
using namespace tailrace::grid;
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double last = 0;
  {
    const Communicator world(MPI_COMM_WORLD);
    const Decomposition shared(std::make_shared<ProcessGrid>(world, 0, 0), {9, 7, 5});
    const auto [start, n] = shared.box(Pencil::x);
    std::vector<double> ux(static_cast<std::size_t>(product(n))), plane(9 * 7);
    io::Series out(argv[argc - 1], io::Mode::write, world); // the path is x.h5, x.bp or a directory
    for (int step = 1; step <= 3; ++step) {
      auto value = ux.begin();
      for (auto z = start[2]; z < start[2] + n[2]; ++z)
        for (auto y = start[1]; y < start[1] + n[1]; ++y)
          for (auto x = start[0]; x < start[0] + n[0]; ++x)
            *value++ = static_cast<double>(x + 10 * y + 100 * z + 1000 * step);
      out.begin_step(step, 0.25 * step);
      out.write("ux", ux.data(), {shared.shape(), shared.box(Pencil::x), shared.box(Pencil::x)});
      out.end_step();
    }
    out.close();
    io::Series(argv[argc - 1], io::Mode::read, world).read(2, "ux", {{0, 0, 4}, {9, 7, 1}}, plane.data());
    last = plane.back();
  }
  return MPI_Finalize() || last != 3468;
}
