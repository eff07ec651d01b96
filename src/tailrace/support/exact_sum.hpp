#pragma once

#include <tailrace/support/communicator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tailrace {

/// A sum that does not depend on the order of its terms, nor on which rank has which of them: terms are split into
/// whole numbers of a few units, which add up without rounding (as in Demmel and Nguyen 2015, with fixed units). Exact
/// for terms from 2^-160 to 2^80, up to 2^22 of them on all ranks together; larger ones are added as they are.
class ExactSum {
public:
  void add(double term) {
    if (!(std::fabs(term) < most)) {
      ++parts_[units];
      outside_ += term;
      return;
    }
    double unit = largest, inverse = 1 / largest;
    for (std::size_t k = 0; k < units && term != 0; ++k, unit *= step, inverse /= step) {
      if (std::fabs(term) < 0.5 * unit)
        continue;
      const auto whole = static_cast<std::int64_t>(std::nearbyint(term * inverse));
      parts_[k] += whole;
      term -= static_cast<double>(whole) * unit;
    }
  }

  /// Adds the terms of all ranks. Collective.
  void combine(const Communicator &comm) { combine(comm, std::span(this, 1)); }
  /// The same for several sums, in one message.
  static void combine(const Communicator &comm, std::span<ExactSum> sums) {
    std::vector<std::int64_t> all;
    for (const ExactSum &sum : sums)
      all.insert(all.end(), sum.parts_.begin(), sum.parts_.end());
    comm.sum(all);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * (units + 1)), units + 1, sums[i].parts_.begin());
      if (sums[i].parts_[units] > 0)
        sums[i].outside_ = comm.sum(sums[i].outside_);
    }
  }

  double value() const {
    double unit = smallest, sum = 0;
    for (std::size_t k = units; k-- > 0; unit /= step)
      sum += static_cast<double>(parts_[k]) * unit;
    return parts_[units] > 0 ? sum + outside_ : sum;
  }

private:
  static constexpr std::size_t units = 6;
  static constexpr double step = 0x1p-40, largest = 0x1p40, smallest = 0x1p-160, most = 0x1p80;
  std::array<std::int64_t, units + 1> parts_{}; ///< the last one counts the terms that are outside of the range
  double outside_ = 0;
};

} // namespace tailrace
