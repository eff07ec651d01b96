#pragma once

#include <tailrace/support/communicator.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tailrace {

/// A sum that depends neither on the order of its terms nor on which rank has which of them: the bits of each term add
/// to whole numbers of units 2^32 apart, which cover all doubles and add up without rounding (as Neal 2015). For up to
/// 2^31 terms on all ranks together.
class ExactSum {
public:
  void add(double term) {
    const auto bits = std::bit_cast<std::uint64_t>(term);
    const std::uint64_t exponent = bits >> 52U & 0x7ffU, fraction = bits & ((1ULL << 52U) - 1);
    const bool negative = bits >> 63U != 0;
    if (exponent == 0x7ff) {
      ++parts_[fraction != 0 ? nans : negative ? negative_infinities : infinities];
      return;
    }
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | 1ULL << 52U;
    const std::uint64_t place = exponent == 0 ? 0 : exponent - 1, unit = place / 32, shift = place % 32;
    const std::uint64_t low = mantissa << shift, high = shift == 0 ? 0 : mantissa >> (64 - shift);
    const std::int64_t sign = negative ? -1 : 1;
    parts_[unit] += sign * static_cast<std::int64_t>(low & 0xffffffffU);
    parts_[unit + 1] += sign * static_cast<std::int64_t>(low >> 32U);
    parts_[unit + 2] += sign * static_cast<std::int64_t>(high);
  }

  /// Adds the terms of all ranks. Collective.
  void combine(const Communicator &comm) { combine(comm, std::span(this, 1)); }
  /// The same for several sums, in one message.
  static void combine(const Communicator &comm, std::span<ExactSum> sums) {
    std::vector<std::int64_t> all;
    for (const ExactSum &sum : sums)
      all.insert(all.end(), sum.parts_.begin(), sum.parts_.end());
    comm.sum(all);
    for (std::size_t i = 0; i < sums.size(); ++i)
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * size), size, sums[i].parts_.begin());
  }

  double value() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (parts_[nans] > 0 || (parts_[infinities] > 0 && parts_[negative_infinities] > 0))
      return std::numeric_limits<double>::quiet_NaN();
    if (parts_[infinities] > 0 || parts_[negative_infinities] > 0)
      return parts_[infinities] > 0 ? infinity : -infinity;
    double sum = 0;
    std::int64_t carry = 0; // to the next unit, so that large parts of opposite signs do not cancel after rounding
    for (std::size_t unit = 0; unit < units; ++unit) {
      const std::int64_t part = parts_[unit] + carry;
      carry = unit + 1 < units ? (part + (1LL << 31U)) >> 32U : 0;
      sum += std::ldexp(static_cast<double>(part - carry * (1LL << 32U)), static_cast<int>(unit) * 32 - 1074);
    }
    return sum;
  }

private:
  static constexpr std::size_t units = 66, nans = units, infinities = units + 1, negative_infinities = units + 2;
  static constexpr std::size_t size = units + 3;
  std::array<std::int64_t, size> parts_{}; ///< of 2^-1074 2^(32 i), then how many terms were not finite
};

} // namespace tailrace
