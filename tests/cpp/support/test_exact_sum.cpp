// The exact sum against sums in 128 bits: any order, all magnitudes, terms that cancel, and what is not finite.
#include <tailrace/support/exact_sum.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace tailrace;

namespace {

double exact_sum(const std::vector<double> &terms) {
  ExactSum sum;
  for (double term : terms)
    sum.add(term);
  return sum.value();
}

std::vector<double> random_terms(std::mt19937 &random, std::size_t count, int least, int most) {
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(least, most);
  std::vector<double> terms(count);
  std::generate(terms.begin(), terms.end(), [&] { return std::ldexp(mantissa(random), exponent(random)); });
  return terms;
}

TEST(ExactSum, IsThatOfMoreDigitsInAnyOrder) {
  std::mt19937 random(3);
  for (int n = 0; n < 200; ++n) {
    std::vector<double> terms = random_terms(random, 200, -20, 20);
    __extension__ __float128 expected = 0; // 113 bits: no term of these loses a bit
    for (double term : terms)
      expected += term;
    const double found = exact_sum(terms);
    EXPECT_NEAR(found, static_cast<double>(expected), 0x1p-52 * std::fabs(static_cast<double>(expected)));
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_EQ(found, exact_sum(terms));
  }
}

TEST(ExactSum, HoldsAllMagnitudes) {
  std::mt19937 random(4);
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double term = std::ldexp(1, exponent);
    EXPECT_EQ(exact_sum({term}), term);
    EXPECT_EQ(exact_sum({-term, 3.0, term}), 3.0) << exponent;
  }
  for (int n = 0; n < 50; ++n) { // what is added and taken away again leaves the least number
    std::vector<double> terms = random_terms(random, 500, -1100, 1000);
    const std::size_t count = terms.size();
    for (std::size_t i = 0; i < count; ++i)
      terms.push_back(-terms[i]);
    terms.push_back(-std::numeric_limits<double>::denorm_min());
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_EQ(exact_sum(terms), -std::numeric_limits<double>::denorm_min());
  }
}

TEST(ExactSum, KeepsSmallTermsBesideLargeOnes) {
  EXPECT_EQ(exact_sum({1e300, 1, -1e300}), 1);
  EXPECT_EQ(exact_sum(std::vector<double>(1000000, 0.1)), 100000); // a plain sum gives 100000.0000013329
  EXPECT_EQ(exact_sum({}), 0);
}

TEST(ExactSum, TellsWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(exact_sum({1, infinity, 2}), infinity);
  EXPECT_EQ(exact_sum({1, -infinity, 2}), -infinity);
  EXPECT_TRUE(std::isnan(exact_sum({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(exact_sum({1, nan})));
}

TEST(ExactSum, IsTheSameOnAnyRanks) {
  const Communicator world(MPI_COMM_WORLD);
  std::mt19937 random(5);
  std::vector<double> terms = random_terms(random, 600, -100, 100);
  std::array<ExactSum, 2> sums;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (static_cast<int>(i * i) % world.size() == world.rank()) { // some ranks have none
      sums[0].add(terms[i]);
      sums[1].add(-2 * terms[i]);
    }
  ExactSum::combine(world, sums);
  EXPECT_EQ(sums[0].value(), exact_sum(terms));
  EXPECT_EQ(sums[1].value(), -2 * exact_sum(terms));
}

} // namespace
