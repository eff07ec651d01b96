// Bytes of a file in memory, against a plain array.

#include <tailrace/io/hdf5/journal/held_bytes.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <random>

using namespace tailrace::io::h5;

namespace {

constexpr std::int64_t size = 3000;

struct Case {
  std::mt19937 random;
  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); }
  std::vector<char> bytes(std::int64_t count) {
    std::vector<char> result(static_cast<std::size_t>(count));
    for (auto &byte : result)
      byte = static_cast<char>(below(3)); // often equal to what was there
    return result;
  }
};

TEST(HeldBytes, WhatIsNotHeldIsAGap) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Case any{std::mt19937(seed)};
    HeldBytes held;
    std::vector<std::optional<char>> expected(size);
    for (int piece = 0; piece < 8; ++piece) {
      const std::int64_t begin = any.below(size - 400);
      const auto bytes = any.bytes(1 + any.below(400));
      held.put(begin, bytes.data(), static_cast<std::int64_t>(bytes.size()));
      std::copy(bytes.begin(), bytes.end(), expected.begin() + begin);
    }
    const std::int64_t begin = any.below(size), count = any.below(size - begin + 1);
    std::vector<char> found(static_cast<std::size_t>(count));
    std::vector<bool> gap(found.size());
    held.get(begin, found.data(), count, [&](std::int64_t from, std::int64_t bytes) {
      for (std::int64_t at = from; at < from + bytes; ++at)
        gap.at(static_cast<std::size_t>(at - begin)) = true;
    });
    for (std::size_t at = 0; at < found.size(); ++at) {
      const auto &one = expected[static_cast<std::size_t>(begin) + at];
      ASSERT_EQ(gap[at], !one.has_value()) << "seed " << seed << ", byte " << at;
      ASSERT_EQ(found[at], one.value_or('\0')) << "seed " << seed << ", byte " << at;
    }
  }
}

TEST(HeldBytes, DifferencesMakeTheNewBytesOfTheOldOnes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Case any{std::mt19937(seed)};
    const auto before = any.bytes(any.below(size));
    auto after = before;
    after.resize(before.size() + static_cast<std::size_t>(any.below(3)) * 100, 'n');
    for (std::int64_t change = any.below(5); change > 0 && !after.empty(); --change)
      after[static_cast<std::size_t>(any.below(static_cast<std::int64_t>(after.size())))] ^= 1;
    HeldBytes::Pieces parts;
    add_differences(parts, 1000, after, before);
    auto made = before;
    made.resize(after.size());
    std::size_t written = 0;
    for (const auto &[begin, bytes] : parts) {
      std::copy(bytes.begin(), bytes.end(), made.begin() + (begin - 1000));
      written += bytes.size();
    }
    EXPECT_EQ(made, after) << "seed " << seed;
    EXPECT_LE(written, after.size() - before.size() + 5 * 257) << "seed " << seed;
  }
}

} // namespace
