#include <tailrace/analysis/moments.hpp>

#include <algorithm>

namespace tailrace::analysis {

using namespace grid;

namespace {
constexpr std::int64_t block = 1024; ///< points whose deviations stay in cache
}

template <class T>
void add_sample(const std::vector<const T *> &fields, std::int64_t points, double share, double factor,
                const std::vector<double *> &means, const std::vector<double *> &products) {
  const std::size_t n = fields.size();
  std::vector<double> deviations(n * block);
  for (std::int64_t start = 0; start < points; start += block) {
    const std::int64_t count = std::min(block, points - start);
    for (std::size_t a = 0; a < n; ++a) {
      const T *x = fields[a] + start;
      double *mean = means[a] + start, *d = deviations.data() + a * block;
      for (std::int64_t i = 0; i < count; ++i) {
        d[i] = static_cast<double>(x[i]) - mean[i];
        mean[i] += share * d[i];
      }
    }
    std::size_t pair = 0;
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a; b < n; ++b) {
        const double *da = deviations.data() + a * block, *db = deviations.data() + b * block;
        double *product = products[pair++] + start;
        for (std::int64_t i = 0; i < count; ++i)
          product[i] += factor * da[i] * db[i];
      }
  }
}

template <class T>
void add_products(const std::vector<const T *> &fields, const Index3 &count,
                  const std::array<std::vector<double>, 3> &weights, const std::array<bool, 3> &kept,
                  const std::vector<const double *> &means, const std::vector<double *> &products) {
  const std::size_t n = fields.size();
  const std::int64_t nx = count[0], step_y = kept[0] ? nx : 1, step_z = step_y * (kept[1] ? count[1] : 1);
  std::vector<double> deviations(n * nx);
  for (std::int64_t k = 0; k < count[2]; ++k)
    for (std::int64_t j = 0; j < count[1]; ++j) {
      const std::int64_t row = (k * count[1] + j) * nx, at = (kept[2] ? k * step_z : 0) + (kept[1] ? j * step_y : 0);
      const double weight = (kept[2] ? 1 : weights[2][k]) * (kept[1] ? 1 : weights[1][j]);
      for (std::size_t a = 0; a < n; ++a)
        for (std::int64_t i = 0; i < nx; ++i)
          deviations[a * nx + i] = static_cast<double>(fields[a][row + i]) - means[a][at + (kept[0] ? i : 0)];
      std::size_t pair = 0;
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a; b < n; ++b) {
          const double *da = deviations.data() + a * nx, *db = deviations.data() + b * nx;
          double *product = products[pair++] + at, sum = 0;
          if (kept[0]) {
            for (std::int64_t i = 0; i < nx; ++i)
              product[i] += weight * da[i] * db[i];
            continue;
          }
          for (std::int64_t i = 0; i < nx; ++i)
            sum += weights[0][i] * da[i] * db[i];
          *product += weight * sum;
        }
    }
}

template void add_sample(const std::vector<const float *> &, std::int64_t, double, double,
                         const std::vector<double *> &, const std::vector<double *> &);
template void add_sample(const std::vector<const double *> &, std::int64_t, double, double,
                         const std::vector<double *> &, const std::vector<double *> &);
template void add_products(const std::vector<const float *> &, const Index3 &,
                           const std::array<std::vector<double>, 3> &, const std::array<bool, 3> &,
                           const std::vector<const double *> &, const std::vector<double *> &);
template void add_products(const std::vector<const double *> &, const Index3 &,
                           const std::array<std::vector<double>, 3> &, const std::array<bool, 3> &,
                           const std::vector<const double *> &, const std::vector<double *> &);

} // namespace tailrace::analysis
