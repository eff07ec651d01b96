// A simulation without Tailrace. It sends its velocity as a stream through ADIOS2: ux, uy, uz with shape {nz, ny, nx},
// without time and attributes. To analyse the stream while the simulation runs:
//
//   mpiexec -n 2 5_stream_adios2_cpp vortex 20 &
//   tailrace analyse enstrophy sst:vortex --grid 5_stream_adios2.toml
//
// The flow is a decaying vortex: ux = sin x cos y exp(-2 nu t), uy = -cos x sin y exp(-2 nu t). Its enstrophy is
// exp(-4 nu t) / 2.

#include <adios2.h>
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr std::size_t nx = 32, ny = 24, nz = 8;
constexpr double pi = 3.14159265358979323846, viscosity = 0.01, dt = 0.5;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    std::fprintf(stderr, "usage: 5_stream_adios2_cpp STREAM STEPS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::size_t first = nz * rank / size, mine = nz * (rank + 1) / size - first;
  std::vector<double> u(mine * ny * nx), v(u.size()), w(u.size(), 0.0);

  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("fluid");
  io.SetEngine("SST");
  io.SetParameters({{"DataTransport", "WAN"}, {"RendezvousReaderCount", "1"}, {"QueueLimit", "2"}});
  const adios2::Dims shape{nz, ny, nx}, start{first, 0, 0}, count{mine, ny, nx};
  auto ux = io.DefineVariable<double>("ux", shape, start, count);
  auto uy = io.DefineVariable<double>("uy", shape, start, count);
  auto uz = io.DefineVariable<double>("uz", shape, start, count);
  adios2::Engine engine = io.Open(argv[1], adios2::Mode::Write);
  for (int step = 0; step < std::atoi(argv[2]); ++step) {
    const double decay = std::exp(-2 * viscosity * dt * step);
    for (std::size_t p = 0; p < u.size(); ++p) {
      const double x = 2 * pi / nx * static_cast<double>(p % nx), y = 2 * pi / ny * static_cast<double>(p / nx % ny);
      u[p] = std::sin(x) * std::cos(y) * decay;
      v[p] = -std::cos(x) * std::sin(y) * decay;
    }
    engine.BeginStep();
    engine.Put(ux, u.data());
    engine.Put(uy, v.data());
    engine.Put(uz, w.data());
    engine.EndStep();
  }
  engine.Close();
  MPI_Finalize();
}
