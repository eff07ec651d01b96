#include <tailrace/ops/mode_systems.hpp>

#include <algorithm>
#include <cmath>

namespace tailrace::ops {

using namespace grid;

namespace {

/// Amplitudes of cosines or sines of a direction of `count` cells; modes outside are folded back.
struct Amplitudes {
  std::vector<double> values;
  std::int64_t count;
  int sign_below; ///< of mode -m as mode m: cosines +1, sines -1

  Amplitudes(std::int64_t n, int sign) : values(static_cast<std::size_t>(n), 0), count(n), sign_below(sign) {}

  void add(std::int64_t mode, double amount) {
    double sign = 1;
    if (mode < 0) {
      mode = -mode;
      sign = sign_below;
    }
    if (mode >
        count) { // about the highest mode both continue with the opposite sign: cosines at centres, sines at nodes
      mode = 2 * count - mode;
      sign = -sign;
    }
    if (mode == count || (mode == 0 && sign_below < 0))
      return; // such a wave is zero at all its points
    values[static_cast<std::size_t>(mode)] += sign * amount;
  }
};

/// Multiplication by the metric.
void spread(const Stretching::Cosines &metric, double length, const Amplitudes &in, Amplitudes &out) {
  for (std::int64_t m = 0; m < in.count; ++m) {
    const double value = in.values[static_cast<std::size_t>(m)] * length;
    if (value == 0)
      continue;
    out.add(m, metric.mean * value);
    out.add(m + metric.waves, metric.wave * value);
    out.add(m - metric.waves, metric.wave * value);
  }
}

/// The metric of y; of a uniform y it is 1, and any distance of coupled modes will do.
Stretching::Cosines metric_of(const Grid &grid) {
  return grid.stretching ? grid.stretching->cosines(grid.lengths[1]) : Stretching::Cosines{1 / grid.lengths[1], 0, 1};
}

/// The operator  metric d/dY metric d/dY  on the transforms of even values at the centres, whose mode 0 counts twice:
/// for each row the entries at -2, -1, 0, 1, 2 times the distance of coupled modes.
std::vector<std::array<double, 5>> bands_of(const Grid &grid, const std::vector<double> &wave_squared) {
  const Stretching::Cosines metric = metric_of(grid);
  const std::int64_t n = grid.cells()[1];
  std::vector<std::array<double, 5>> bands(static_cast<std::size_t>(n), std::array<double, 5>{});
  const auto wave = [&](std::int64_t m) { return std::sqrt(wave_squared[static_cast<std::size_t>(m)]); };
  for (std::int64_t column = 0; column < n; ++column) {
    Amplitudes sines(n, -1), stretched_sines(n, -1), cosines(n, 1), result(n, 1);
    sines.add(column, wave(column));
    spread(metric, grid.lengths[1], sines, stretched_sines);
    for (std::int64_t m = 0; m < n; ++m)
      cosines.values[static_cast<std::size_t>(m)] = -wave(m) * stretched_sines.values[static_cast<std::size_t>(m)];
    spread(metric, grid.lengths[1], cosines, result);
    for (int band = 0; band < 5; ++band) {
      const std::int64_t row = column - (band - 2) * metric.waves;
      if (row < 0 || row >= n)
        continue;
      const double weight = (row == 0 ? 2.0 : 1.0) / (column == 0 ? 2.0 : 1.0);
      bands[static_cast<std::size_t>(row)][static_cast<std::size_t>(band)] =
          weight * result.values[static_cast<std::size_t>(row)];
    }
  }
  return bands;
}

/// For each mode in x and z.
std::int64_t numbers_of(const std::vector<WallMode> &walls) {
  std::int64_t sum = 0;
  for (const WallMode &wall : walls)
    sum += wall.count();
  return sum;
}

} // namespace

template <class T>
ModeSystems<T>::ModeSystems(const Grid &grid, const std::array<Symbols, 3> &symbols, const Box &box, double scale,
                            std::vector<WallMode> walls)
    : box_(box), reach_(metric_of(grid).waves), factors_(static_cast<std::size_t>(5 * box.size())),
      walls_(std::move(walls)),
      corrections_(static_cast<std::size_t>(box.count[0] * box.count[2] * numbers_of(walls_))) {
  const auto bands = bands_of(grid, symbols[1].wave);
  const std::int64_t plane = 5 * box.count[0] * box.count[1];
  for (std::int64_t k = 0; k < box.count[2]; ++k) {
    for (std::int64_t i = 0; i < box.count[0]; ++i) {
      const auto [along, across] = factors_of(symbols, i, k);
      factor(bands, along, across, symbols[1].transfer, scale, factors_.data() + k * plane + i,
             box.start[0] + i == 0 && box.start[2] + k == 0);
    }
    if (!walls_.empty())
      add_walls(symbols, k, scale);
  }
}

/// The factors of mode i in x and k in z of this rank.
template <class T>
auto ModeSystems<T>::factors_of(const std::array<Symbols, 3> &symbols, std::int64_t i, std::int64_t k) const
    -> Factors {
  const auto x = static_cast<std::size_t>(box_.start[0] + i), z = static_cast<std::size_t>(box_.start[2] + k);
  const double tx = symbols[0].transfer[x], tz = symbols[2].transfer[z];
  return {tx * tz, symbols[0].wave[x] * tz + symbols[2].wave[z] * tx};
}

/// The factors of  along * (banded operator) - across * transfer  for one mode, every box_.count[0] values apart.
template <class T>
void ModeSystems<T>::factor(const std::vector<std::array<double, 5>> &bands, double along, double across,
                            const std::vector<double> &transfer, double scale, T *factors, bool is_mean) const {
  const std::int64_t n = box_.count[1], stride = box_.count[0];
  if (along == 0 && across == 0)
    return; // the operators give 0 for such a wave: factors of zero make its pressure zero
  std::vector<std::array<double, 5>> rows(static_cast<std::size_t>(n));
  const auto at = [](std::int64_t m) { return static_cast<std::size_t>(m); };
  for (std::int64_t m = 0; m < n; ++m) {
    for (std::size_t band = 0; band < 5; ++band)
      rows[at(m)][band] = along * bands[at(m)][band];
    rows[at(m)][2] -= across * transfer[at(m)];
  }
  if (is_mean)
    rows[0] = {0, 0, 1, 0, 0}; // any constant is a solution
  for (std::int64_t m = 0; m < n; ++m) {
    std::array<double, 5> &row = rows[at(m)];
    double lower_2 = 0, lower_1 = 0;
    if (m >= 2 * reach_) {
      const auto &above = rows[at(m - 2 * reach_)];
      lower_2 = row[0] / above[2];
      row[1] -= lower_2 * above[3];
      row[2] -= lower_2 * above[4];
    }
    if (m >= reach_) {
      const auto &above = rows[at(m - reach_)];
      lower_1 = row[1] / above[2];
      row[2] -= lower_1 * above[3];
      row[3] -= lower_1 * above[4];
    }
    const double inverse = 1 / row[2];
    const double upper_1 = m + reach_ < n ? row[3] * inverse : 0, upper_2 = m + 2 * reach_ < n ? row[4] * inverse : 0;
    const double pivot = is_mean && m == 0 ? 0 : inverse * scale; // the mean of the pressure is zero
    const double values[5] = {lower_2, lower_1, pivot, upper_1, upper_2};
    for (int band = 0; band < 5; ++band)
      factors[(5 * m + band) * stride] = static_cast<T>(values[band]);
  }
}

template <class T> template <int parts> void ModeSystems<T>::solve_plane(T *plane, const T *factors) const {
  const std::int64_t n = box_.count[1], modes = box_.count[0], row = modes * parts;
  // Rows outside take part with factors of zero; the first row stands for them.
  const auto line = [&](std::int64_t m) { return m >= 0 && m < n ? plane + m * row : plane; };
  for (std::int64_t m = reach_; m < n; ++m) {
    const T *lower_2 = factors + 5 * m * modes, *lower_1 = lower_2 + modes;
    const T *above_2 = line(m - 2 * reach_), *above_1 = line(m - reach_);
    T *here = line(m);
    for (std::int64_t i = 0; i < modes; ++i)
      for (int part = 0; part < parts; ++part)
        here[i * parts + part] -= lower_2[i] * above_2[i * parts + part] + lower_1[i] * above_1[i * parts + part];
  }
  for (std::int64_t m = n - 1; m >= 0; --m) {
    const T *pivot = factors + (5 * m + 2) * modes, *upper_1 = pivot + modes, *upper_2 = upper_1 + modes;
    const T *below_1 = line(m + reach_), *below_2 = line(m + 2 * reach_);
    T *here = line(m);
    for (std::int64_t i = 0; i < modes; ++i)
      for (int part = 0; part < parts; ++part)
        here[i * parts + part] = pivot[i] * here[i * parts + part] -
                                 (upper_1[i] * below_1[i * parts + part] + upper_2[i] * below_2[i * parts + part]);
  }
}

/// Takes the rows of the walls into account one after another: with A the system of those before, and u and v the
/// column and the row of a wall, keeps  A^-1 u / (1 + v A^-1 u)  for plane number k.
template <class T> void ModeSystems<T>::add_walls(const std::array<Symbols, 3> &symbols, std::int64_t k, double scale) {
  const std::int64_t n = box_.count[1], modes = box_.count[0];
  T *correction = corrections_.data() + k * modes * numbers_of(walls_);
  std::vector<T> solution(static_cast<std::size_t>(n * modes));
  std::vector<double> divisor(static_cast<std::size_t>(modes));
  for (std::size_t w = 0; w < walls_.size(); correction += walls_[w].count() * modes, ++w) {
    const WallMode &wall = walls_[w];
    std::ranges::fill(solution, T(0));
    std::ranges::fill(divisor, 1.0);
    const auto each = [&](const auto &act) {
      for (std::int64_t j = 0; j < wall.count(); ++j)
        for (std::int64_t i = 0; i < modes; ++i)
          act(static_cast<std::size_t>(j), i, solution[static_cast<std::size_t>(wall.mode(j) * modes + i)]);
    };
    each([&](std::size_t j, std::int64_t i, T &value) {
      const auto [along, across] = factors_of(symbols, i, k);
      value = static_cast<T>((wall.of_average ? -across : along) / scale * wall.column[j]);
    });
    solve_plane<1>(solution.data(), factors_.data() + k * 5 * n * modes);
    correct_plane<1>(solution.data(), k, w);
    each([&](std::size_t j, std::int64_t i, T &value) {
      divisor[static_cast<std::size_t>(i)] += wall.row[j] * static_cast<double>(value);
    });
    each([&](std::size_t j, std::int64_t i, T &value) {
      correction[static_cast<std::int64_t>(j) * modes + i] =
          static_cast<T>(static_cast<double>(value) / divisor[static_cast<std::size_t>(i)]);
    });
  }
}

/// Makes a solution of the banded systems of plane number k one of those with the first `count` rows of the walls.
template <class T>
template <int parts>
void ModeSystems<T>::correct_plane(T *plane, std::int64_t k, std::size_t count) const {
  const std::int64_t modes = box_.count[0], row = modes * parts;
  const T *correction = corrections_.data() + k * modes * numbers_of(walls_);
  std::vector<T> residuals(static_cast<std::size_t>(row));
  for (std::size_t w = 0; w < count; ++w) {
    const WallMode &wall = walls_[w];
    std::ranges::fill(residuals, T(0));
    for (std::int64_t j = 0; j < wall.count(); ++j) {
      const T weight = static_cast<T>(wall.row[static_cast<std::size_t>(j)]);
      const T *here = plane + wall.mode(j) * row;
      for (std::int64_t i = 0; i < row; ++i)
        residuals[static_cast<std::size_t>(i)] += weight * here[i];
    }
    for (std::int64_t j = 0; j < wall.count(); ++j, correction += modes) {
      T *here = plane + wall.mode(j) * row;
      for (std::int64_t i = 0; i < modes; ++i)
        for (int part = 0; part < parts; ++part)
          here[i * parts + part] -= correction[i] * residuals[static_cast<std::size_t>(i * parts + part)];
    }
  }
}

template <class T> void ModeSystems<T>::solve(T *plane, std::int64_t k, int parts) const {
  const T *factors = factors_.data() + k * 5 * box_.count[0] * box_.count[1];
  parts == 1 ? solve_plane<1>(plane, factors) : solve_plane<2>(plane, factors);
  parts == 1 ? correct_plane<1>(plane, k, walls_.size()) : correct_plane<2>(plane, k, walls_.size());
}

template class ModeSystems<float>;
template class ModeSystems<double>;

} // namespace tailrace::ops
