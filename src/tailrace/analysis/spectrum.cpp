#include <tailrace/analysis/spectrum.hpp>

#include <tailrace/grid/exchange.hpp>
#include <tailrace/ops/line_transform.hpp>
#include <tailrace/ops/row_transform.hpp>
#include <tailrace/ops/sweep.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tailrace::analysis {

using namespace grid;
using namespace ops;

namespace {

using Complex = std::complex<double>;
using Processes = std::shared_ptr<const ProcessGrid>;

double *reals(Complex *p) { return reinterpret_cast<double *>(p); }

/// The Fourier transform of real fields in a periodic box, not scaled. x is first, because its real lines are
/// contiguous; only half of its modes are kept.
class Transform {
public:
  Transform(const Index3 &points, const Processes &processes)
      : modes_(processes, {points[0] / 2 + 1, points[1], points[2]}, true), x_(points[0], true),
        y_(LineTransform<double>::Kind::complex, points[1]), z_(LineTransform<double>::Kind::complex, points[2]),
        exchange_(modes_, TransposeMethod::alltoall, std::make_shared<Workspace>()),
        x_block_(modes_.box(Pencil::x).size()), y_block_(modes_.box(Pencil::y).size()),
        z_block_(modes_.box(Pencil::z).size()) {}

  const Decomposition &modes() const { return modes_; }

  /// This rank's Z pencil of modes; valid until the next call. Collective.
  const Complex *operator()(const double *field) {
    const Box x = modes_.box(Pencil::x);
    x_.forward(field, reals(x_block_.data()), x.count[1] * x.count[2]);
    Complex *y = exchange_.move(Pencil::x, Pencil::y, x_block_.data(), y_block_.data());
    columns(y_, 1, modes_.box(Pencil::y).count, y);
    Complex *z = exchange_.move(Pencil::y, Pencil::z, y, z_block_.data());
    columns(z_, 2, modes_.box(Pencil::z).count, z);
    return z;
  }

private:
  static void columns(const LineTransform<double> &transform, int d, const Index3 &count, Complex *values) {
    Lines lines = Lines::along(d, count);
    lines.inner *= 2; // real and imaginary parts are neighbouring columns
    lines.stride *= 2;
    sweep<double, 1, 1>(
        lines, lines.points, {reals(values)},
        [&](auto &tile) {
          for (int b = 0; b < tile.bundles; ++b) {
            std::copy_n(tile.in[0][b], lines.points, tile.out[0][b]);
            transform.forward(tile.out[0][b], nullptr);
          }
        },
        StoreTo<double, 1>{{reals(values)}});
  }

  Decomposition modes_;
  RowTransform<double> x_;
  LineTransform<double> y_, z_;
  Exchange<Complex> exchange_;
  Buffer<Complex> x_block_, y_block_, z_block_;
};

/// (wave number / width)^2 of every mode along a direction.
std::vector<double> squares(std::int64_t points, double step) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < points; ++i) {
    const double k = step * static_cast<double>(2 * i <= points ? i : i - points);
    result.push_back(k * k);
  }
  return result;
}

/// Shares of points in the average over a direction by the trapezoidal rule.
std::vector<double> shares(const Grid &grid, const std::array<bool, 3> &centred, int d) {
  std::vector<double> result = grid.weights(d, centred[d]);
  for (double &share : result)
    share /= static_cast<double>(grid.cells()[d]);
  return result;
}

constexpr std::int64_t batch = 8; ///< lines transformed at once

/// Copies lines first .. first + count of `from` into rows of `padded` values, the rest of them zeros.
void gather(const double *from, const Lines &lines, std::int64_t first, std::int64_t count, std::int64_t padded,
            double *rows) {
  std::fill_n(rows, count * padded, 0.0);
  for (std::int64_t r = 0; r < count; ++r) {
    const double *line = from + (first + r) / lines.inner * lines.points * lines.stride + (first + r) % lines.inner;
    for (std::int64_t j = 0; j < lines.points; ++j)
      rows[r * padded + j] = line[j * lines.stride];
  }
}

/// Moves a field to the pencil in which a direction is whole.
struct Moved {
  Buffer<double> y, z;
  const double *operator()(Exchange<double> &exchange, int direction, const double *field) {
    const Decomposition &parts = exchange.decomposition();
    auto *x = const_cast<double *>(field); // only read; `move` returns the same pointer where no data move
    if (direction == 0)
      return x;
    if (!exchange.is_free(Pencil::x, Pencil::y))
      y = Buffer<double>(parts.box(Pencil::y).size());
    double *in_y = exchange.move(Pencil::x, Pencil::y, x, y.data());
    if (direction == 1)
      return in_y;
    if (!exchange.is_free(Pencil::y, Pencil::z))
      z = Buffer<double>(parts.box(Pencil::z).size());
    return exchange.move(Pencil::y, Pencil::z, in_y, z.data());
  }
};

} // namespace

Shells shell_spectrum(const Grid &grid, const Processes &processes, const std::vector<const double *> &fields) {
  for (int d = 0; d < 3; ++d)
    if (!grid.periodic(d))
      throw InputError(fmt::format("a spectrum by shells needs periodic directions; {} is {}. Take spectra or "
                                   "correlations along the periodic directions instead",
                                   "xyz"[d], sides_name(grid.boundaries[d])));
  double longest = 0; // a direction of one node has no waves
  for (int d = 0; d < 3; ++d)
    longest = std::max(longest, grid.nodes[d] > 1 ? grid.lengths[d] : 0);
  std::array<std::vector<double>, 3> k;
  double farthest = 0, points = 1;
  for (int d = 0; d < 3; ++d) {
    k[d] = squares(grid.nodes[d], longest / grid.lengths[d]);
    farthest += *std::max_element(k[d].begin(), k[d].end());
    points *= static_cast<double>(grid.nodes[d]);
  }
  const auto count = static_cast<std::size_t>(std::lround(std::sqrt(farthest))) + 1;
  Shells shells{2 * std::numbers::pi / longest, std::vector<double>(count), std::vector<std::int64_t>(count)};
  Transform transform(grid.nodes, processes);
  const Box box = transform.modes().box(Pencil::z);
  bool first = true;
  for (const double *field : fields) {
    const Complex *modes = transform(field);
    for (std::int64_t z = box.start[2]; z < box.end(2); ++z)
      for (std::int64_t y = box.start[1]; y < box.end(1); ++y)
        for (std::int64_t x = box.start[0]; x < box.end(0); ++x) {
          const auto shell = static_cast<std::size_t>(std::lround(std::sqrt(k[0][x] + k[1][y] + k[2][z])));
          const int twice = x == 0 || 2 * x == grid.nodes[0] ? 1 : 2; // with the mode -k, which is not kept
          shells.energy[shell] += twice * std::norm(*modes++);
          shells.modes[shell] += first ? twice : 0;
        }
    first = false;
  }
  processes->comm().sum(std::span(shells.energy));
  processes->comm().sum(std::span(shells.modes));
  for (double &energy : shells.energy)
    energy /= 2 * points * points;
  return shells;
}

std::vector<Complex> mean_cross_spectrum(const Grid &grid, const std::array<bool, 3> &centred,
                                         const Processes &processes, int direction, std::int64_t points,
                                         const double *f, const double *g) {
  Index3 shape;
  for (int d = 0; d < 3; ++d)
    shape[d] = centred[d] ? grid.cells()[d] : grid.nodes[d];
  if (direction < 0 || direction > 2 || points < shape[direction])
    throw InputError(fmt::format("direction {} with lines of {} points is impossible", direction, points));
  const Decomposition parts(processes, shape, true);
  Exchange<double> exchange(parts, TransposeMethod::alltoall, std::make_shared<Workspace>());
  Moved moved_f, moved_g;
  const double *in_f = moved_f(exchange, direction, f);
  const double *in_g = f == g ? in_f : moved_g(exchange, direction, g);
  const Box box = parts.box(static_cast<Pencil>(direction));
  const Lines lines = Lines::along(direction, box.count);
  const RowTransform<double> transform(points, true);
  const std::int64_t modes = points / 2 + 1, all = lines.outer * lines.inner;
  std::vector<double> rows(batch * points);
  std::vector<Complex> F(batch * modes), G(batch * modes), mean(modes);
  const int a = direction == 0 ? 1 : 0, b = direction == 2 ? 1 : 2; // lines are counted along a, then b
  const std::vector<double> along_a = shares(grid, centred, a), along_b = shares(grid, centred, b);
  for (std::int64_t first = 0; first < all; first += batch) {
    const std::int64_t count = std::min(batch, all - first);
    gather(in_f, lines, first, count, points, rows.data());
    transform.forward(rows.data(), reals(F.data()), count);
    if (in_g != in_f) {
      gather(in_g, lines, first, count, points, rows.data());
      transform.forward(rows.data(), reals(G.data()), count);
    }
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t line = first + r;
      const double weight = along_a[box.start[a] + line % box.count[a]] * along_b[box.start[b] + line / box.count[a]];
      const Complex *one = F.data() + r * modes, *other = (in_g == in_f ? F : G).data() + r * modes;
      for (std::int64_t k = 0; k < modes; ++k)
        mean[k] += weight * std::conj(one[k]) * other[k];
    }
  }
  processes->comm().sum(std::span(reals(mean.data()), 2 * mean.size()));
  return mean;
}

} // namespace tailrace::analysis
