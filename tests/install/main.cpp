// Uses the installed library like a program of a user: the slabs of all ranks must add up to the whole grid.
#include <tailrace/grid/box.hpp>
#include <tailrace/support/communicator.hpp>

#include <mpi.h>

#include <cstdio>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  bool ok = false;
  {
    const tailrace::Communicator world(MPI_COMM_WORLD);
    const tailrace::grid::Box whole{{0, 0, 0}, {7, 5, 3 * world.size()}};
    const tailrace::grid::Box mine = whole.intersect({{0, 0, 3 * world.rank()}, {100, 100, 3}});
    ok = world.sum(mine.size()) == whole.size();
    if (world.rank() == 0)
      std::printf("consumer on %d ranks: %s\n", world.size(), ok ? "ok" : "wrong sum");
  }
  MPI_Finalize();
  return ok ? 0 : 1;
}
