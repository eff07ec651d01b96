// CPU seconds of the kernels alone: the gradients of four fields on n^3 nodes, with one compact sweep per field and
// direction between allocated arrays. benchmarks/analysis.py compares them with the same operation in Python.
//
//   gradient NODES REPETITIONS      prints a JSON list

#include <tailrace/ops/apply.hpp>
#include <tailrace/ops/compact_scheme.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gradient NODES REPETITIONS\n");
    return 2;
  }
  const std::int64_t n = std::atoll(argv[1]);
  const double spacing = 2 * M_PI / static_cast<double>(n);
  const LineSystem<double> system(compact_scheme(Operation::first_derivative, spacing), n, Boundary::periodic,
                                  Parity::even);
  constexpr int fields = 4;
  std::vector<Buffer<double>> in, out;
  for (int f = 0; f < fields; ++f) {
    Buffer<double> &field = in.emplace_back(n * n * n);
    for (std::int64_t p = 0; p < field.size(); ++p)
      field[p] =
          std::sin(spacing * static_cast<double>(p % n + f)) * std::cos(spacing * static_cast<double>(p / n % n));
    for (int d = 0; d < 3; ++d)
      std::fill_n(out.emplace_back(n * n * n).data(), n * n * n, 0.0);
  }
  std::printf("[");
  for (int repetition = 0; repetition <= std::atoi(argv[2]); ++repetition) {
    const double start = cpu_seconds();
    for (std::size_t f = 0; f < fields; ++f)
      for (std::size_t d = 0; d < 3; ++d)
        apply(system, static_cast<int>(d), {n, n, n}, in[f].data(), out[3 * f + d].data());
    if (repetition > 0) // the first repetition warms up and is not counted
      std::printf("%s%.6f", repetition > 1 ? ", " : "", cpu_seconds() - start);
  }
  std::printf("]\n");
}
