// What the ends of a stream spend their time on, and how much of it a stream may cost. The tests run on one rank.

#include <tailrace/io/sst/control/reader_clock.hpp>
#include <tailrace/io/sst/steps/time_budget.hpp>

#include <gtest/gtest.h>

using namespace tailrace::io;

namespace {

TEST(TimeBudget, KeepsToTheShare) {
  TimeBudget share(0.02);
  double elapsed = 0, spent = 0;
  int taken = 0;
  for (int step = 0; step < 100'000; ++step) {
    share.update(elapsed, spent);
    if (share.affordable()) {
      spent += 0.01;
      elapsed += 0.01;
      share.note_cost(0.01);
      ++taken;
    }
    elapsed += 0.005;
    ASSERT_LE(spent, 0.02 * elapsed + 0.01);
  }
  EXPECT_NEAR(0.01 * taken / elapsed, 0.02, 0.001) << "and makes use of it";
  // A pause of an hour saves up the budget of only ten seconds.
  elapsed += 3600;
  const double before = spent;
  for (int step = 0; step < 100; ++step) {
    share.update(elapsed, spent);
    if (!share.affordable())
      break;
    spent += 0.01;
    share.note_cost(0.01);
  }
  EXPECT_NEAR(spent - before, 0.2, 0.011);
}

TEST(TimeBudget, ACostlyStepIsAffordedAgain) {
  TimeBudget share(0.02);
  share.update(0, 0);
  ASSERT_TRUE(share.affordable()) << "the first";
  share.note_cost(30); // more than the ten seconds of which a pause saves up the share
  double elapsed = 30;
  int skipped = 0;
  for (share.update(elapsed, 30); !share.affordable() && skipped < 10'000; ++skipped)
    share.update(elapsed += 1, 30);
  EXPECT_NEAR(elapsed, 2 * 30 / 0.02, 2) << "when it has paid for this step and for one more";
}

TEST(ReaderClock, TransferIsNoWorkOfTheReader) {
  ReaderClock clock;
  clock.begin();
  clock.ask();
  clock.got();
  clock.moved(3600);
  clock.ask();
  EXPECT_EQ(clock.step().transfer, 3600);
  EXPECT_EQ(clock.step().compute, 0) << "less than an hour has passed";
  clock.got();
  EXPECT_EQ(clock.total().transfer, 3600);
  EXPECT_EQ(clock.total().compute, 0);
}

} // namespace
