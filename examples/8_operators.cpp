// Derivatives of your own arrays by the solver's sixth-order schemes, on any number of ranks.
//
//   mpiexec -n 2 8_operators_cpp          prints errors against exact values

#include <tailrace/ops/operators.hpp>

#include <cmath>
#include <cstdio>
#include <numbers>

using namespace tailrace;

void differentiate() {
  const Communicator world(MPI_COMM_WORLD);
  const double pi = std::numbers::pi;
  using grid::Boundary;
  // A grid that the ranks share: points, lengths and boundaries in x, y, z. Free-slip directions have both end points.
  const grid::Grid box({32, 24, 17}, {2 * pi, 2 * pi, pi},
                       {Boundary::periodic, Boundary::periodic, Boundary::free_slip});
  ops::Operators<double> operators(box, std::make_shared<grid::ProcessGrid>(world, 1, world.size()),
                                   grid::TransposeMethod::alltoall);
  const auto [start, count] =
      operators.box({false, false, false}); // this rank's points: on the nodes, not between them

  std::vector<double> p, exact_derivative, exact_laplacian;
  for (auto k = start[2]; k < start[2] + count[2]; ++k)
    for (auto j = start[1]; j < start[1] + count[1]; ++j)
      for (auto i = start[0]; i < start[0] + count[0]; ++i) {
        const double x = box.spacing(0) * static_cast<double>(i), y = box.spacing(1) * static_cast<double>(j),
                     z = box.spacing(2) * static_cast<double>(k);
        p.push_back(std::sin(x) * std::cos(2 * y) * std::cos(z));
        exact_derivative.push_back(-std::sin(x) * std::cos(2 * y) * std::sin(z));
        exact_laplacian.push_back(-6 * p.back());
      }

  // A term: input number, output number, direction, operation, parity, factor. Parity: the field is mirrored (even) or
  // mirrored with the opposite sign (odd) at free-slip boundaries, here in z. All terms of an output are added.
  using enum ops::Operation;
  const auto even = ops::Parity::even;
  std::vector<double> derivative(p.size()), laplacian(p.size());
  operators.combine({{0, 0, 2, first_derivative, even, 1},
                     {0, 1, 0, second_derivative, even, 1},
                     {0, 1, 1, second_derivative, even, 1},
                     {0, 1, 2, second_derivative, even, 1}},
                    {p.data()}, {derivative.data(), laplacian.data()});

  double first = 0, second = 0;
  for (std::size_t n = 0; n < p.size(); ++n) {
    first = std::max(first, std::abs(derivative[n] - exact_derivative[n]));
    second = std::max(second, std::abs(laplacian[n] - exact_laplacian[n]));
  }
  first = world.max(first); // over all ranks
  second = world.max(second);
  if (world.rank() == 0)
    std::printf("error of dp/dz: %.6g\nerror of the Laplacian: %.6g\n", first, second);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  differentiate();
  return MPI_Finalize();
}
