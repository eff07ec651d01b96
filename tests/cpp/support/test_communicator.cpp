#include "support.hpp"
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <typeinfo>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

/// Type and text of the exception that world().agree(work) throws on this rank; the text is empty without an exception.
std::pair<const std::type_info *, std::string> outcome(const std::function<void()> &work) {
  try {
    world().agree(work);
  } catch (const std::exception &error) {
    return {&typeid(error), error.what()};
  }
  return {&typeid(void), ""};
}

/// The error text that all ranks get for an error on `rank`.
std::string told(const std::string &text, int rank) {
  return world().size() == 1 ? text : text + " (on rank " + std::to_string(rank) + ")";
}

} // namespace

TEST(Agree, IsSilentWhenNobodyFails) {
  int calls = 0;
  EXPECT_EQ(outcome([&] { ++calls; }).second, "");
  EXPECT_EQ(calls, 1);
}

TEST(Agree, EveryRankThrowsWhatOneThrew) {
  for (int failing = 0; failing < world().size(); ++failing) {
    const auto fail_with = [&](auto error) {
      return outcome([&] {
        if (world().rank() == failing)
          throw error;
      });
    };
    const std::string text = told("no room", failing);
    EXPECT_EQ(fail_with(InputError("no room")), std::pair(&typeid(InputError), text));
    EXPECT_EQ(fail_with(IoError("no room")), std::pair(&typeid(IoError), text));
    EXPECT_EQ(fail_with(Error("no room")), std::pair(&typeid(Error), text));
    EXPECT_EQ(fail_with(std::runtime_error("no room")), std::pair(&typeid(Error), text));
  }
}

TEST(Agree, TheLowestRankSpeaksForAll) {
  const int size = world().size(), first = size / 2;
  const auto result = outcome([&] {
    if (world().rank() == first)
      throw IoError("first");
    if (world().rank() > first)
      throw InputError("later, and longer than the other text");
  });
  EXPECT_EQ(result, std::pair(&typeid(IoError), told("first", first)));
}

TEST(Agree, CarriesEmptyAndLongTexts) {
  EXPECT_EQ(outcome([] { throw Error(""); }).second, told("", 0));
  const std::string text(100000, 'x');
  EXPECT_EQ(outcome([&] { throw Error(text); }).second, told(text, 0));
}

TEST(Agree, TheRanksAreStillTogetherAfterwards) {
  for (int round = 0; round < 20; ++round)
    outcome([&] {
      if (world().rank() == round % world().size())
        throw Error("again");
    });
  EXPECT_EQ(world().sum(std::int64_t{1}), world().size());
}

TEST(Communicator, Reduces) {
  const int rank = world().rank(), size = world().size();
  EXPECT_EQ(world().sum(std::int64_t{rank + 1}), size * (size + 1) / 2);
  EXPECT_EQ(world().max(std::int64_t{-rank}), 0);
  EXPECT_EQ(world().sum(0.5 * rank), 0.25 * size * (size - 1));
  EXPECT_EQ(world().max(0.5 * rank), 0.5 * (size - 1));
  const std::int64_t large = (std::int64_t{1} << 60) / size; // a conversion to double would lose digits
  EXPECT_EQ(world().sum(large + 1), size * (large + 1));
}

TEST(Communicator, ExclusiveScanSumsTheRanksBelow) {
  const std::int64_t rank = world().rank();
  EXPECT_EQ(world().exclusive_scan(rank + 1), rank * (rank + 1) / 2);
  EXPECT_EQ(world().exclusive_scan(std::int64_t{1} << 40), rank << 40);
}

TEST(Communicator, TellsAllWhatRankZeroMakes) {
  for (const std::size_t length : {0, 5, 1016, 1017, 100000}) {
    const std::string text = world().from_root([&] {
      EXPECT_EQ(world().rank(), 0);
      return std::string(length, 'x') + "y";
    });
    EXPECT_EQ(text, std::string(length, 'x') + "y");
  }
}

TEST(Communicator, TellsAllWhyRankZeroFailed) {
  for (const std::size_t length : {5, 5000}) {
    const std::string reason(length, 'r');
    try {
      world().from_root([&]() -> std::string { throw IoError(reason); });
      FAIL() << "no error on rank " << world().rank();
    } catch (const IoError &error) {
      EXPECT_EQ(error.what(), reason + (world().size() > 1 ? " (on rank 0)" : ""));
    }
  }
}

TEST(Communicator, GathersTextsOfAnyLength) {
  const auto text = [](int rank) {
    return std::string(static_cast<std::size_t>(rank % 3) * 5, static_cast<char>('a' + rank));
  };
  for (int root = 0; root < world().size(); ++root) {
    const auto texts = world().gather(text(world().rank()), root);
    if (world().rank() != root) {
      EXPECT_TRUE(texts.empty());
      continue;
    }
    ASSERT_EQ(static_cast<int>(texts.size()), world().size());
    for (int r = 0; r < world().size(); ++r)
      EXPECT_EQ(texts[r], text(r));
  }
}

/// Lengths around the pieces of 64 bytes in which texts are sent.
TEST(Communicator, ScattersAndGathersTheSameTexts) {
  for (const std::size_t length : {0, 1, 63, 64, 65, 1000})
    for (int root = 0; root < world().size(); ++root) {
      std::vector<std::string> texts;
      for (int r = 0; world().rank() == root && r < world().size(); ++r)
        texts.emplace_back(length + static_cast<std::size_t>(r % 2), static_cast<char>('a' + r));
      const std::string ours = world().scatter(texts, root);
      EXPECT_EQ(ours, std::string(length + static_cast<std::size_t>(world().rank() % 2),
                                  static_cast<char>('a' + world().rank())));
      EXPECT_EQ(world().gather(ours, root), texts);
    }
}

TEST(Communicator, GathersValuesRankByRank) {
  struct Pair {
    std::int64_t rank, number;
    bool operator==(const Pair &) const = default;
  };
  const auto values = [](std::int64_t rank) {
    std::vector<Pair> all;
    for (std::int64_t n = 0; n < 5 * (rank % 2 + rank % 3); ++n) // some ranks have none
      all.push_back({rank, n});
    return all;
  };
  std::vector<Pair> expected;
  for (std::int64_t r = 0; world().rank() == 0 && r < world().size(); ++r)
    for (const Pair &pair : values(r))
      expected.push_back(pair);
  EXPECT_EQ(world().gather(values(world().rank()), 0), expected);
}

TEST(Communicator, Broadcasts) {
  for (int root = 0; root < world().size(); ++root) {
    const std::string mine = "from " + std::to_string(world().rank()) + std::string(world().rank(), '.');
    EXPECT_EQ(world().broadcast(mine, root), "from " + std::to_string(root) + std::string(root, '.'));
  }
  EXPECT_EQ(world().broadcast("", 0), "");
}

TEST(Communicator, BroadcastsValuesOfAnyType) {
  struct Item {
    std::int64_t number;
    double value;
    bool operator==(const Item &) const = default;
  };
  const int rank = world().rank();
  for (int root = 0; root < world().size(); ++root) {
    EXPECT_EQ(world().broadcast_value(Item{rank, 0.5 * rank}, root), (Item{root, 0.5 * root}));
    std::array<std::int32_t, 5> numbers{rank, 1, 2, 3, -rank};
    world().broadcast(std::span(numbers), root);
    EXPECT_EQ(numbers, (std::array<std::int32_t, 5>{root, 1, 2, 3, -root}));
    const std::vector<Item> mine(static_cast<std::size_t>(rank), {rank, -1}); // the length differs between ranks
    EXPECT_EQ(world().broadcast(mine, root), std::vector<Item>(static_cast<std::size_t>(root), {root, -1}));
  }
}

/// Whether all ranks give the same value.
bool same_on_all_ranks(std::int64_t value) {
  Tally tally;
  tally.compare(1, value);
  world().combine(tally);
  return tally.same(1);
}

TEST(Communicator, TellsWhetherAllRanksHoldTheSame) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(), highest = -(lowest + 1);
  for (const std::int64_t value : {lowest, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, highest})
    EXPECT_TRUE(same_on_all_ranks(value)) << value;
  for (int odd = 0; odd < world().size() && world().size() > 1; ++odd) {
    const bool other = world().rank() == odd;
    EXPECT_FALSE(same_on_all_ranks(other ? lowest : highest));
    EXPECT_FALSE(same_on_all_ranks(other ? 1 : -1));
    EXPECT_FALSE(same_on_all_ranks((std::int64_t{1} << 53) + other)); // these are equal as doubles
  }
}

TEST(Communicator, CombinesLargestValuesAndSums) {
  const std::int64_t rank = world().rank(), size = world().size(), large = std::int64_t{1} << 57;
  Tally tally{{rank, -rank, -large, 5}, {large + rank, -rank, 0, 1}};
  world().combine(tally);
  EXPECT_EQ(tally.largest, (std::array<std::int64_t, 4>{size - 1, 0, -large, 5}));
  EXPECT_EQ(tally.sum,
            (std::array<std::int64_t, 4>{size * large + size * (size - 1) / 2, -size * (size - 1) / 2, 0, size}));
}

TEST(Communicator, SplitsByColourOrderedByKey) {
  const int rank = world().rank(), size = world().size();
  const Communicator part = world().split(rank % 2, -rank);
  const int members = rank % 2 == 0 ? (size + 1) / 2 : size / 2;
  EXPECT_EQ(part.size(), members);
  EXPECT_EQ(part.rank(), members - 1 - rank / 2); // the key reverses the order
  EXPECT_GE(world().split_node().size(), 1);
}

TEST(Communicator, KeepsItsMessagesFromTheCallers) {
  const Communicator other = Communicator::from_fortran(MPI_Comm_c2f(MPI_COMM_WORLD));
  EXPECT_EQ(other.rank(), world().rank());
  EXPECT_EQ(other.size(), world().size());
  int comparison = MPI_IDENT;
  MPI_Comm_compare(other.get(), MPI_COMM_WORLD, &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
  MPI_Comm_compare(other.get(), world().get(), &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
}

TEST(Communicator, CopiesShareAndOutliveTheOriginal) {
  auto original = std::make_unique<Communicator>(MPI_COMM_WORLD);
  const Communicator copy = *original;
  EXPECT_EQ(copy.get(), original->get());
  original.reset();
  EXPECT_EQ(copy.sum(std::int64_t{1}), world().size());
}
