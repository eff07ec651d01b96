// Tests of the C interface: arrays of one to three dimensions, and calls that must fail.
#include "c_api/c_api_test.hpp"
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/types.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

TEST_F(CApi, writesWithGhostsAndReadsAnyBox) {
  for (const char *name : {"out.h5", "out"}) {
    const Three ghosts{1, 2, 0}, none{0, 0, 0}, all = shape;
    const std::array<double, 3> origin{0, 1, 2}, spacing{0.5, 0.25, 0.125};
    ASSERT_EQ(tailrace_set_grid(series, shape.data(), origin.data(), spacing.data(), nullptr, nullptr), 0) << text();
    ASSERT_EQ(tailrace_set_parameter(series, "checksums", "off"), 0) << text();
    ASSERT_EQ(open("w", nullptr, name), 0) << text();
    ASSERT_EQ(tailrace_declare(series, "small", 3, shape.data(), TAILRACE_FLOAT32), 0) << text();
    ASSERT_EQ(tailrace_begin_step(series, 3, 0.5), 0) << text();
    ASSERT_EQ(tailrace_write_float(series, "ux", 3, shape.data(), start.data(), count.data(), ghosts.data(),
                                   values<float>(start, count, ghosts).data()),
              0)
        << text();
    ASSERT_EQ(tailrace_write_double(series, "small", 3, shape.data(), start.data(), count.data(), ghosts.data(),
                                    values<double>(start, count, ghosts).data()),
              0)
        << text();
    ASSERT_EQ(tailrace_write_scalar(series, "energy", 0.125), 0) << text();
    ASSERT_EQ(tailrace_end_step(series), 0) << text();
    ASSERT_EQ(tailrace_close(series), 0) << text();

    ASSERT_EQ(open("r", nullptr, name), 0) << text(); // the same handle can be used for another series
    int64_t steps = 0, index = 0;
    double time = 0, energy = 0;
    ASSERT_EQ(tailrace_steps(series, &steps), 0);
    ASSERT_EQ(tailrace_step(series, 0, &index, &time), 0) << text();
    ASSERT_EQ(tailrace_read_scalar(series, 0, "energy", &energy), 0) << text();
    EXPECT_EQ(steps, 1);
    EXPECT_EQ(index, 3);
    EXPECT_EQ(time, 0.5);
    EXPECT_EQ(energy, 0.125);
    for (const char *variable : {"ux", "small"}) {
      Three found{};
      int type = 0;
      ASSERT_EQ(tailrace_variable(series, 0, variable, found.data(), &type, nullptr), 0) << text();
      EXPECT_EQ(found, shape);
      EXPECT_EQ(type, TAILRACE_FLOAT32);
      std::vector<double> whole(11 * 7 * 13);
      ASSERT_EQ(tailrace_read_double(series, 0, variable, 3, none.data(), all.data(), whole.data()), 0) << text();
      EXPECT_EQ(whole, values<double>(none, all));
      const Three corner{2, 3, 4}, size{5, 1, 6};
      std::vector<float> part(30);
      ASSERT_EQ(tailrace_read_float(series, 0, variable, 3, corner.data(), size.data(), part.data()), 0) << text();
      EXPECT_EQ(part, values<float>(corner, size));
    }
    ASSERT_EQ(tailrace_close(series), 0) << text();
  }
}

TEST_F(CApi, fewerDimensionsAreStoredWithTrailingOnes) {
  ASSERT_EQ(open("w"), 0) << text();
  ASSERT_EQ(tailrace_begin_step(series, 1, 0), 0) << text();
  const int64_t n = 3 * comm.size(), first = 3 * comm.rank(), width = 1, three = 3;
  const std::vector<double> line{-1, 1.0 * first, 1.0 * first + 1, 1.0 * first + 2, -1};
  ASSERT_EQ(tailrace_write_double(series, "line", 1, &n, &first, &three, &width, line.data()), 0) << text();
  const std::array<int64_t, 2> plane{4, n}, corner{0, first}, size{4, 3};
  const std::vector<float> flat(12, static_cast<float>(comm.rank()));
  ASSERT_EQ(tailrace_write_float(series, "plane", 2, plane.data(), corner.data(), size.data(), nullptr, flat.data()), 0)
      << text();
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();

  ASSERT_EQ(open("r"), 0) << text();
  Three found{};
  ASSERT_EQ(tailrace_variable(series, 0, "line", found.data(), nullptr, nullptr), 0) << text();
  EXPECT_EQ(found, (Three{n, 1, 1}));
  ASSERT_EQ(tailrace_variable(series, 0, "plane", found.data(), nullptr, nullptr), 0) << text();
  EXPECT_EQ(found, (Three{4, n, 1}));
  double last = 0;
  const int64_t at = n - 1, one = 1;
  ASSERT_EQ(tailrace_read_double(series, 0, "line", 1, &at, &one, &last), 0) << text();
  EXPECT_EQ(last, static_cast<double>(n - 1));
  const std::array<int64_t, 2> here{3, n - 1}, single{1, 1};
  ASSERT_EQ(tailrace_read_double(series, 0, "plane", 2, here.data(), single.data(), &last), 0) << text();
  EXPECT_EQ(last, comm.size() - 1.0);
}

TEST_F(CApi, appendsAndRewinds) {
  write_step();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  ASSERT_EQ(tailrace_set_rewind(series, 2), 0);
  ASSERT_EQ(open("a"), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  ASSERT_EQ(open("r"), 0) << text();
  int64_t steps = -1;
  ASSERT_EQ(tailrace_steps(series, &steps), 0);
  EXPECT_EQ(steps, 0);
}

TEST_F(CApi, opensExclusively) {
  ASSERT_EQ(open("x"), 0) << text();
  ASSERT_EQ(tailrace_begin_step(series, 0, 0.5), 0) << text();
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  expect_error(open("x"), TAILRACE_IO_ERROR, "is there already");
}

TEST_F(CApi, refusesToOpen) {
  expect_error(open("w", "hdf4"), TAILRACE_INPUT_ERROR, "unknown engine 'hdf4'");
  expect_error(open("v"), TAILRACE_INPUT_ERROR, "unknown mode 'v'");
  expect_error(open("r"), TAILRACE_IO_ERROR, "out.h5");
  expect_error(tailrace_open(series, MPI_COMM_WORLD, nullptr, "w", nullptr), TAILRACE_INPUT_ERROR, "path");
  ASSERT_EQ(tailrace_set_parameter(series, "sinc", "on"), 0);
  expect_error(open("w"), TAILRACE_INPUT_ERROR, "sinc");
  ASSERT_EQ(open("w"), 0) << "parameters are those of one open: " << text();
  expect_error(open("w"), TAILRACE_INPUT_ERROR, "is open");
  expect_error(tailrace_set_parameter(series, "sync", "on"), TAILRACE_INPUT_ERROR, "is open");
}

TEST_F(CApi, saysWhetherAStepIsTaken) {
  int taken = -1;
  write_step();
  ASSERT_EQ(tailrace_step_taken(series, &taken), 0) << text();
  EXPECT_EQ(taken, 1);
  expect_error(tailrace_step_taken(series, nullptr), TAILRACE_INPUT_ERROR, "taken");
  ASSERT_EQ(tailrace_close(series), 0) << text();
  const auto engines = io::engine_names();
  if (std::find(engines.begin(), engines.end(), "sst") == engines.end())
    return;
  // A stream without readers takes no step, but the calls that write to the stream are still checked.
  ASSERT_EQ(open("w", "sst", "run"), 0) << text();
  ASSERT_EQ(tailrace_begin_step(series, 3, 0.5), 0) << text();
  ASSERT_EQ(tailrace_step_taken(series, &taken), 0) << text();
  EXPECT_EQ(taken, 0);
  const auto data = values<double>(start, count);
  const auto write = [&] {
    return tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr, data.data());
  };
  ASSERT_EQ(write(), 0) << text();
  expect_error(write(), TAILRACE_INPUT_ERROR, "already written");
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
  expect_error(tailrace_begin_step(series, 3, 0.5), TAILRACE_INPUT_ERROR, "cannot follow");
  int64_t dropped = -1, skipped = -1, unread = -1;
  ASSERT_EQ(tailrace_dropped(series, &dropped, &skipped, &unread), 0) << text();
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(skipped, 0);
  EXPECT_EQ(unread, comm.rank() == 0 ? 1 : 0);
  ASSERT_EQ(tailrace_dropped(series, nullptr, nullptr, nullptr), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
}

TEST_F(CApi, refusesWhatCannotBeWritten) {
  const auto data = values<double>(start, count);
  expect_error(tailrace_begin_step(series, 1, 0), TAILRACE_INPUT_ERROR, "the series is not open");
  expect_error(tailrace_begin_step(nullptr, 1, 0), TAILRACE_INPUT_ERROR, "the series is not open");
  write_step();
  ASSERT_EQ(tailrace_begin_step(series, 4, 1), 0) << text();
  const Three other{11, 7, 12}, negative{0, -1, 0};
  const auto write = [&](const char *name, int dimensions, const Three &whole, const int64_t *ghosts) {
    return tailrace_write_double(series, name, dimensions, whole.data(), start.data(), count.data(), ghosts,
                                 data.data());
  };
  expect_error(write("ux", 3, other, nullptr), TAILRACE_INPUT_ERROR, "ux");
  expect_error(write("ux", 5, shape, nullptr), TAILRACE_INPUT_ERROR, "1 to 4 dimensions");
  expect_error(write("ux", 3, shape, negative.data()), TAILRACE_INPUT_ERROR, "-1 ghosts");
  expect_error(write(nullptr, 3, shape, nullptr), TAILRACE_INPUT_ERROR, "name");
  expect_error(tailrace_declare(series, "p", 3, shape.data(), 7), TAILRACE_INPUT_ERROR, "unknown type 7");
  // The argument is wrong on one rank only: all ranks get the error, and no rank waits.
  const bool culprit = comm.rank() == comm.size() - 1;
  expect_error(tailrace_write_double(series, "ux", 3, culprit ? nullptr : shape.data(), start.data(), count.data(),
                                     nullptr, data.data()),
               TAILRACE_INPUT_ERROR, "shape is a null pointer");
  ASSERT_EQ(write("ux", 3, shape, nullptr), 0) << "the step still takes what is right: " << text();
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
}

TEST_F(CApi, refusesWhatCannotBeRead) {
  write_step();
  const Three corner{0, 0, 0}, one{1, 1, 1}, outside{11, 0, 0};
  double number = 0;
  int64_t index = 0;
  expect_error(tailrace_read_double(series, 0, "ux", 3, corner.data(), one.data(), &number), TAILRACE_INPUT_ERROR,
               "open for writing");
  ASSERT_EQ(tailrace_close(series), 0) << text();
  ASSERT_EQ(open("r"), 0) << text();
  expect_error(tailrace_read_double(series, 0, "uz", 3, corner.data(), one.data(), &number), TAILRACE_INPUT_ERROR,
               "no variable 'uz'; did you mean 'ux'?");
  expect_error(tailrace_variable(series, 0, "uz", nullptr, nullptr, nullptr), TAILRACE_INPUT_ERROR, "no variable 'uz'");
  expect_error(tailrace_read_double(series, 1, "ux", 3, corner.data(), one.data(), &number), TAILRACE_INPUT_ERROR,
               "no step number 1");
  expect_error(tailrace_step(series, -1, &index, &number), TAILRACE_INPUT_ERROR, "no step number -1");
  expect_error(tailrace_read_double(series, 0, "ux", 3, outside.data(), one.data(), &number), TAILRACE_INPUT_ERROR,
               "outside");
  expect_error(tailrace_read_scalar(series, 0, "energy", &number), TAILRACE_INPUT_ERROR, "no scalar 'energy'");
  expect_error(tailrace_write_scalar(series, "energy", 1), TAILRACE_INPUT_ERROR, "open for reading");
}

TEST_F(CApi, closesWhatIsNotOpen) {
  EXPECT_EQ(tailrace_close(nullptr), 0) << text();
  EXPECT_EQ(tailrace_close(series), 0) << text();
  EXPECT_EQ(tailrace_is_open(nullptr), 0);
  EXPECT_EQ(tailrace_is_open(series), 0);
  write_step();
  EXPECT_EQ(tailrace_is_open(series), 1);
  EXPECT_EQ(tailrace_close(series), 0) << text();
  EXPECT_EQ(tailrace_is_open(series), 0);
  EXPECT_EQ(tailrace_close(series), 0) << text();
}

TEST_F(CApi, describesTheBox) {
  const double origin[3] = {0, 0, 0}, spacing[3] = {0.1, 0.2, 0.3}, lengths[3] = {1.1, 1.2, 3.9};
  const double none[3] = {1.1, 0, 3.9};
  const auto set = [&](const double *size, const char *boundaries) {
    return tailrace_set_grid(series, shape.data(), origin, spacing, size, boundaries);
  };
  expect_error(set(none, nullptr), TAILRACE_INPUT_ERROR, "the length in y is 0");
  expect_error(set(lengths, "periodic,wall,periodic"), TAILRACE_INPUT_ERROR, "wall");
  expect_error(set(lengths, "periodic,periodic"), TAILRACE_INPUT_ERROR, "expected three, in x, y and z");
  ASSERT_EQ(set(lengths, "periodic,free-slip,dirichlet,"), 0) << text(); // stored without the last comma
  write_step();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  ASSERT_EQ(open("r"), 0) << text();
  double found[3] = {};
  const char *boundaries = nullptr;
  ASSERT_EQ(tailrace_get_attribute(series, "lengths", 3, found), 0) << text();
  ASSERT_EQ(tailrace_get_attribute_text(series, "boundaries", &boundaries), 0) << text();
  EXPECT_TRUE(std::equal(found, found + 3, lengths));
  EXPECT_STREQ(boundaries, "periodic,free-slip,dirichlet");
}

TEST_F(CApi, refusesImpossibleDecompositions) {
  tailrace_decomposition *shared = nullptr;
  expect_error(tailrace_decomposition_new(&shared, MPI_COMM_WORLD, shape.data(), comm.size() + 1, 1),
               TAILRACE_INPUT_ERROR, "process grid");
  EXPECT_EQ(shared, nullptr);
  int64_t ignored[3];
  expect_error(tailrace_decomposition_box(shared, 0, ignored, ignored), TAILRACE_INPUT_ERROR, "null");
}

} // namespace
