// A program that writes a stream with ADIOS2 only: `foreign_stream NAME STEPS`. It does not use Tailrace, so the stream
// has no time, index, attributes or checksums. It has only ux, uy and uz with shape {nz, ny, nx}, whose values are
// step, 2 step and 3 step everywhere. It waits for one reader. It runs on any number of ranks, which split z.

#include <adios2.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t nx = 10, ny = 9, nz = 8;

void stream(const std::string &name, int steps) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto share = [&](int of) { return nz * static_cast<std::size_t>(of) / static_cast<std::size_t>(size); };
  const adios2::Dims shape{nz, ny, nx}, start{share(rank), 0, 0}, count{share(rank + 1) - share(rank), ny, nx};

  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("fluid");
  io.SetEngine("SST");
  io.SetParameters({{"DataTransport", "WAN"}, {"RendezvousReaderCount", "1"}, {"QueueLimit", "2"}});
  std::array<adios2::Variable<double>, 3> velocity;
  const std::array<std::string, 3> names{"ux", "uy", "uz"};
  for (std::size_t c = 0; c < 3; ++c)
    velocity[c] = io.DefineVariable<double>(names[c], shape, start, count);
  adios2::Engine engine = io.Open(name, adios2::Mode::Write);
  for (int step = 0; step < steps; ++step) {
    engine.BeginStep();
    for (std::size_t c = 0; c < 3; ++c) {
      const std::vector<double> values(count[0] * ny * nx, static_cast<double>(c + 1) * step);
      engine.Put(velocity[c], values.data(), adios2::Mode::Sync);
    }
    engine.EndStep();
  }
  engine.Close();
}

} // namespace

int main(int argc, char **argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  try {
    if (argc != 3)
      throw std::invalid_argument("usage: foreign_stream NAME STEPS");
    stream(argv[1], std::stoi(argv[2]));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "foreign_stream: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
