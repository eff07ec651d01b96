// Writes a field with halos and a list of particles. A second run resumes after the first step, as after a restart.
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>
using namespace tailrace;
using namespace tailrace::grid;
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    const Communicator world(MPI_COMM_WORLD);
    const Decomposition shared(std::make_shared<ProcessGrid>(world, 0, 0), {9, 7, 5});
    const Box block = shared.box(Pencil::x);
    const Box memory{{block.start[0], block.start[1] - 1, block.start[2]},
                     {block.count[0], block.count[1] + 2, block.count[2]}}; // a halo along y
    const std::vector<double> ux(static_cast<std::size_t>(memory.size()), 0.5), particles(3, world.rank());
    io::Options options;
    for (const auto mode : {io::Mode::write, io::Mode::append}) {
      io::Series out(argv[argc - 1], mode, world, options);
      for (int step = static_cast<int>(out.steps().size()) + 1; step <= 3; ++step) {
        out.begin_step(step, 0.25 * step);
        out.write("ux", ux.data(), {shared.shape(), block, memory});
        out.write_list("particles", particles.data(), 1, 3); // the number of rows may differ between ranks
        out.end_step();
      }
      options.rewind_to = 1; // the second run removes the steps after step 1
    }
    const io::Series in(argv[argc - 1], io::Mode::read, world);
    right = in.steps().size() == 3 && in.variable(2, "particles").shape[1] == world.size();
  }
  return MPI_Finalize() || !right;
}
