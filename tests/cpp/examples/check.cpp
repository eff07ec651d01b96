// Used by the tests: checks that a series contains what examples/1_write or examples/3_restart write.
//   check_example write|restart PATH
#include <tailrace/io/series.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>
#include <string>

using namespace tailrace;
using grid::Index3;

namespace {

constexpr double pi = std::numbers::pi;

struct Expected {
  std::string name;
  Index3 shape;
  std::size_t steps;
  std::int64_t every;
  double dt; ///< time per index
  std::function<double(std::int64_t step, double time, double x, double y, double z)> value;
};

double wave(std::int64_t, double time, double x, double y, double z) {
  return std::exp(-time / 4) * (std::sin(x - time) * std::cos(y) + std::cos(z) / 2);
}

/// Two modes of the discrete diffusion, each with its factor per step.
double diffused(std::int64_t step, double, double x, double y, double z) {
  const auto factor = [](double kx, double ky) {
    const double sx = std::sin(kx * pi / 48), sy = std::sin(ky * pi / 36);
    return 1 - 0.8 * (sx * sx + sy * sy);
  };
  const double k = z * 8 / (2 * pi);
  return (1 + k) * (std::sin(x) * std::pow(factor(1, 0), step) +
                    std::sin(4 * x) * std::cos(3 * y) * std::pow(factor(4, 3), step));
}

int count_wrong(const io::Series &in, const Expected &expected) {
  int wrong = in.steps().size() == expected.steps ? 0 : 1;
  for (std::size_t step = 0; step < in.steps().size(); ++step) {
    const auto [index, time] = in.steps()[step];
    wrong += index == static_cast<std::int64_t>(step) * expected.every ? 0 : 1;
    wrong += std::abs(time - expected.dt * static_cast<double>(index)) < 1e-12 ? 0 : 1;
    const auto n = in.variable(step, expected.name).shape;
    if (n != expected.shape)
      return wrong + 1;
    wrong += static_cast<int>(in.verify(step).size());
    std::vector<double> values(static_cast<std::size_t>(grid::product(n)));
    in.read(step, expected.name, {{0, 0, 0}, n}, values.data());
    auto value = values.begin();
    for (std::int64_t k = 0; k < n[2]; ++k)
      for (std::int64_t j = 0; j < n[1]; ++j)
        for (std::int64_t i = 0; i < n[0]; ++i) {
          const auto at = [&](std::int64_t one, std::size_t d) {
            return 2 * pi * static_cast<double>(one) / static_cast<double>(n[d]);
          };
          wrong += std::abs(*value++ - expected.value(index, time, at(i, 0), at(j, 1), at(k, 2))) < 1e-12 ? 0 : 1;
        }
  }
  return wrong;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int wrong = 1;
  if (argc == 3) {
    const io::Series in(argv[2], io::Mode::read, Communicator(MPI_COMM_WORLD));
    const Expected waves{"ux", {32, 24, 16}, 9, 10, 0.05, wave};
    const Expected diffusion{"u", {48, 36, 8}, 9, 5, 0.01, diffused};
    wrong = count_wrong(in, std::string(argv[1]) == "write" ? waves : diffusion);
    std::printf("%s: %d things are not what the example writes\n", argv[2], wrong);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
