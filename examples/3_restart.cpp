// A simulation of your own that can be killed at any moment and continues on any number of ranks.
//
//   mpiexec -n 2 3_restart_cpp decay.h5 25   as if it had been interrupted at step 25; the last checkpoint is of step
//   20 mpiexec -n 1 3_restart_cpp decay.h5 40   continues from step 20; the results are those of a single run tailrace
//   plot decay.h5 --field u --step 4 -o 3_restart.png

#include "3_diffusion.hpp"
#include <tailrace/support/error.hpp>

using namespace tailrace;

void simulate(const std::string &path, int last_step) {
  const Communicator world(MPI_COMM_WORLD);
  Diffusion flow(world); // flow.u is this rank's box flow.mine of the whole, flow.points
  const auto write = [&](io::Series &series, int step) {
    series.begin_step(step, 0.01 * step);
    series.write("u", flow.u.data(), {flow.points, flow.mine, flow.mine});
    series.end_step(); // when this returns, the step is complete
  };

  // Two checkpoints, written in turn, so one of them is always complete. We take the newest, whatever the ranks of its
  // writer had.
  const std::string checkpoints[] = {path + ".checkpoint1", path + ".checkpoint2"};
  int step = -1;
  for (const auto &checkpoint : checkpoints) {
    try {
      const io::Series state(checkpoint, io::Mode::read, world);
      if (!state.steps().empty() && state.steps()[0].index > step && state.verify(0).empty()) {
        step = static_cast<int>(state.steps()[0].index);
        state.read(0, "u", flow.mine, flow.u.data());
      }
    } catch (const InputError &) { // not written yet
    }
  }

  io::Options options;
  options.grid = flow.grid();
  if (step >= 0)
    options.rewind_to = step; // removes the results after the checkpoint
  io::Series results(path, step >= 0 ? io::Mode::append : io::Mode::write, world, options);
  if (step < 0)
    write(results, step = 0);

  io::Options on_disk;
  on_disk.engine = "raw";
  on_disk.parameters = {{"sync", "on"}}; // end_step returns when the step is on the disk
  while (step < last_step) {
    flow.advance();
    if (++step % 5 == 0)
      write(results, step);
    if (step % 10 == 0) {
      io::Series state(checkpoints[step / 10 % 2], io::Mode::write, world, on_disk);
      write(state, step);
      state.close();
    }
  }
  results.close();
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  simulate(argc > 1 ? argv[1] : "decay.h5", argc > 2 ? std::stoi(argv[2]) : 40);
  return MPI_Finalize();
}
