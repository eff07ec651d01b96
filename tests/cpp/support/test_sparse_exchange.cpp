// Messages to ranks that do not know of them.
#include "support.hpp"
#include <tailrace/support/sparse_exchange.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::test;

namespace {

std::string text(int from, int to, int turn) {
  return "turn " + std::to_string(turn) + std::string(static_cast<std::size_t>(37 * from + to), '.');
}

TEST(SparseExchange, EveryMessageComesOnce) {
  const int ranks = world().size(), rank = world().rank();
  const auto sends = [&](int from, int to, int turn) { return (from * 3 + to + turn) % 4 != 0; };
  for (int turn = 0; turn < 20; ++turn) { // one after another: no message may come to the wrong turn
    std::map<int, std::string> outgoing, expected;
    for (int other = 0; other < ranks; ++other) {
      if (sends(rank, other, turn))
        outgoing[other] = text(rank, other, turn);
      if (sends(other, rank, turn))
        expected[other] = text(other, rank, turn);
    }
    EXPECT_EQ(exchange_sparse(world(), outgoing), expected);
  }
}

TEST(SparseExchange, ARankMayGetNothingOrAnEmptyMessage) {
  const int last = world().size() - 1;
  const std::map<int, std::string> outgoing{{last, ""}};
  const auto found = exchange_sparse(world(), world().rank() == 0 ? outgoing : std::map<int, std::string>());
  EXPECT_EQ(found, world().rank() == last ? (std::map<int, std::string>{{0, ""}}) : (std::map<int, std::string>()));
}

TEST(SparseExchange, ValuesComeAsTheyWere) {
  const int next = (world().rank() + 1) % world().size();
  const int before = (world().rank() + world().size() - 1) % world().size();
  const std::map<int, std::vector<double>> outgoing{{next, {0.5 * world().rank(), -1e300, 7}}};
  const std::map<int, std::vector<double>> expected{{before, {0.5 * before, -1e300, 7}}};
  EXPECT_EQ(exchange_sparse(world(), outgoing), expected);
}

} // namespace
