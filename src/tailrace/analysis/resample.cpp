#include <tailrace/analysis/resample.hpp>

#include <tailrace/grid/exchange.hpp>
#include <tailrace/ops/row_transform.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <vector>

namespace tailrace::analysis {

using namespace grid;
using namespace ops;

namespace {

using Complex = std::complex<double>;
constexpr std::int64_t batch = 8; ///< lines transformed at once

double *reals(Complex *p) { return reinterpret_cast<double *>(p); }

/// Where line number `r` starts.
std::int64_t start_of(const Lines &lines, std::int64_t r) {
  return r / lines.inner * lines.points * lines.stride + r % lines.inner;
}

/// Lines of one direction, from one number of points to another.
class LineResampling {
public:
  LineResampling(bool periodic, Parity parity, std::int64_t from, std::int64_t to)
      : periodic_(periodic), odd_(parity == Parity::odd), from_(periodic ? from : 2 * (from - 1)),
        to_(periodic ? to : 2 * (to - 1)), forward_(from_, true), backward_(to_, true),
        before_(batch * (from_ / 2 + 1)), after_(batch * (to_ / 2 + 1)), from_rows_(batch * from_),
        to_rows_(batch * to_) {}

  void operator()(const Lines &in, const double *values, const Lines &out, double *result) {
    const std::int64_t all = in.outer * in.inner;
    for (std::int64_t first = 0; first < all; first += batch) {
      const std::int64_t count = std::min(batch, all - first);
      for (std::int64_t r = 0; r < count; ++r)
        extend(values + start_of(in, first + r), in, from_rows_.data() + r * from_);
      forward_.forward(from_rows_.data(), reals(before_.data()), count);
      for (std::int64_t r = 0; r < count; ++r)
        copy_modes(before_.data() + r * (from_ / 2 + 1), after_.data() + r * (to_ / 2 + 1));
      backward_.backward(reals(after_.data()), to_rows_.data(), count);
      for (std::int64_t r = 0; r < count; ++r)
        for (std::int64_t j = 0; j < out.points; ++j)
          result[start_of(out, first + r) + j * out.stride] = to_rows_[r * to_ + j];
    }
  }

private:
  /// One period of the line as it continues beyond its boundaries.
  void extend(const double *line, const Lines &lines, double *row) const {
    for (std::int64_t j = 0; j < lines.points; ++j)
      row[j] = line[j * lines.stride];
    if (periodic_)
      return;
    if (odd_)
      row[0] = row[lines.points - 1] = 0;
    for (std::int64_t j = lines.points; j < from_; ++j)
      row[j] = odd_ ? -row[from_ - j] : row[from_ - j];
  }

  void copy_modes(const Complex *before, Complex *after) const {
    const std::int64_t fewest = std::min(from_, to_), middle = fewest / 2;
    const double scale = 1.0 / static_cast<double>(from_);
    std::fill_n(after, to_ / 2 + 1, Complex{});
    for (std::int64_t k = 0; 2 * k < fewest; ++k)
      after[k] = scale * before[k];
    if (fewest % 2 == 0 && from_ < to_) // the wave of two points per length is two waves from now on, +k and -k
      after[middle] = 0.5 * scale * before[middle].real();
    if (fewest % 2 == 0 && from_ > to_)
      after[middle] = 2 * scale * before[middle].real();
  }

  bool periodic_, odd_;
  std::int64_t from_, to_; ///< points of a period
  RowTransform<double> forward_, backward_;
  std::vector<Complex> before_, after_;
  std::vector<double> from_rows_, to_rows_;
};

/// Lines of one direction, to other places: by the polynomials of degree five through the six points around a place,
/// or next to it at a wall. Beyond a free-slip boundary lines continue by their parity.
class LinePolynomials {
public:
  LinePolynomials(const Grid &from, const Grid &to, int d, Parity parity) {
    const std::vector<double> x = from.coordinates(d);
    const auto n = static_cast<std::int64_t>(x.size());
    const double length = from.lengths[d], end = x.back();
    const Sides &sides = from.boundaries[d];
    for (double place : to.coordinates(d)) {
      place = std::min(place * (length / to.lengths[d]), end); // some formats store lengths in single precision
      std::int64_t first = std::upper_bound(x.begin(), x.end(), place) - x.begin() - degree / 2 - 1;
      if (sides.lower == Boundary::dirichlet)
        first = std::max<std::int64_t>(first, 0);
      if (sides.upper == Boundary::dirichlet)
        first = std::min(first, n - degree - 1);
      std::array<double, degree + 1> at{};
      Stencil stencil;
      for (int m = 0; m <= degree; ++m) {
        const std::int64_t i = first + m, mirrored = i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
        at[m] = i < 0 ? -x[mirrored] : i >= n ? 2 * end - x[mirrored] : x[i];
        stencil.points[m] = mirrored;
        stencil.weights[m] = i == mirrored ? 1 : static_cast<int>(parity);
      }
      for (int m = 0; m <= degree; ++m)
        for (int other = 0; other <= degree; ++other)
          if (other != m)
            stencil.weights[m] *= (place - at[other]) / (at[m] - at[other]);
      stencils_.push_back(stencil);
    }
  }

  void operator()(const Lines &in, const double *values, const Lines &out, double *result) const {
    for (std::int64_t block = 0; block < in.outer; ++block)
      for (std::int64_t j = 0; j < out.points; ++j) {
        const Stencil &stencil = stencils_[j];
        double *row = result + start_of(out, block * out.inner) + j * out.stride;
        std::fill_n(row, out.inner, 0.0);
        for (int m = 0; m <= degree; ++m) {
          const double *from = values + start_of(in, block * in.inner) + stencil.points[m] * in.stride;
          for (std::int64_t r = 0; r < in.inner; ++r)
            row[r] += stencil.weights[m] * from[r];
        }
      }
  }

private:
  static constexpr int degree = 5;
  struct Stencil {
    std::array<std::int64_t, degree + 1> points;
    std::array<double, degree + 1> weights;
  };
  std::vector<Stencil> stencils_;
};

/// Whether nodes of both grids are at equal distances of the same coordinate.
bool stretched_alike(const Grid &a, const Grid &b, int d) {
  if (!a.stretched(d) || !b.stretched(d))
    return a.stretched(d) == b.stretched(d);
  return a.stretching->where == b.stretching->where && a.stretching->beta == b.stretching->beta;
}

/// A field on its way through the pencils: `values` is valid until the next step.
class Moving {
public:
  Moving(const Grid &from, std::shared_ptr<const ProcessGrid> processes, const double *in)
      : grid_(from), processes_(std::move(processes)), shape_(from.nodes), values_(const_cast<double *>(in)) {}

  void resample(int d, Parity parity, const Grid &to) {
    const bool alike = stretched_alike(grid_, to, d);
    if (alike && to.nodes[d] == shape_[d])
      return;
    const auto pencil = static_cast<Pencil>(d);
    const Lines before = Lines::along(d, parts().box(pencil).count);
    shape_[d] = to.nodes[d];
    const Box box = parts().box(pencil);
    const Lines after = Lines::along(d, box.count);
    Buffer<double> result(box.size());
    if (alike && !grid_.boundaries[d].has(Boundary::dirichlet))
      LineResampling(grid_.periodic(d), parity, before.points, after.points)(before, values_, after, result.data());
    else
      LinePolynomials(grid_, to, d, parity)(before, values_, after, result.data());
    keep(std::move(result));
  }

  void move(Pencil from, Pencil to) {
    Exchange<double> exchange(parts(), TransposeMethod::alltoall, std::make_shared<Workspace>());
    if (exchange.is_free(from, to))
      return;
    Buffer<double> result(parts().box(to).size());
    exchange.move(from, to, values_, result.data());
    keep(std::move(result));
  }

  Buffer<double> take() {
    Buffer<double> result(parts().box(Pencil::x).size());
    std::copy_n(values_, result.size(), result.data());
    return result;
  }

private:
  Decomposition parts() const { return Decomposition(processes_, shape_, true); }
  void keep(Buffer<double> result) {
    kept_ = std::move(result);
    values_ = kept_.data();
  }

  Grid grid_;
  std::shared_ptr<const ProcessGrid> processes_;
  Index3 shape_;
  double *values_; ///< the caller's array, which is only read, or `kept_`
  Buffer<double> kept_;
};

} // namespace

Buffer<double> resample(const Grid &from, const std::shared_ptr<const ProcessGrid> &processes,
                        const std::array<Parity, 3> &parities, const Grid &to, const double *in) {
  for (int d = 0; d < 3; ++d)
    if (from.boundaries[d] != to.boundaries[d])
      throw InputError(fmt::format("interpolation to another grid needs the same boundaries; those in {} are {} and {}",
                                   "xyz"[d], sides_name(from.boundaries[d]), sides_name(to.boundaries[d])));
  Moving field(from, processes, in);
  field.resample(0, parities[0], to);
  field.move(Pencil::x, Pencil::y);
  field.resample(1, parities[1], to);
  field.move(Pencil::y, Pencil::z);
  field.resample(2, parities[2], to);
  field.move(Pencil::z, Pencil::y);
  field.move(Pencil::y, Pencil::x);
  return field.take();
}

} // namespace tailrace::analysis
