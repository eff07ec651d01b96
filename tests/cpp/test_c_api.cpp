#include "shared_folder.hpp"
#include <tailrace/c_api/tailrace.h>
#include <tailrace/io/engines.hpp>
#include <tailrace/support/communicator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace tailrace;
namespace fs = std::filesystem;

namespace {

using Three = std::array<int64_t, 3>;
const Three shape{11, 7, 13};

double value(int64_t x, int64_t y, int64_t z) { return static_cast<double>(x + 20 * y + 400 * z); }

/// The values of a box, with `ghosts[d]` points around it that must not be written.
template <class T> std::vector<T> values(const Three &start, const Three &count, const Three &ghosts = {0, 0, 0}) {
  std::vector<T> all;
  for (int64_t z = -ghosts[2]; z < count[2] + ghosts[2]; ++z)
    for (int64_t y = -ghosts[1]; y < count[1] + ghosts[1]; ++y)
      for (int64_t x = -ghosts[0]; x < count[0] + ghosts[0]; ++x) {
        const bool inside = x >= 0 && y >= 0 && z >= 0 && x < count[0] && y < count[1] && z < count[2];
        all.push_back(inside ? static_cast<T>(value(start[0] + x, start[1] + y, start[2] + z)) : T(-1));
      }
  return all;
}

class CApi : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(tailrace_new(&series), 0);
    tailrace_decomposition *shared = nullptr;
    ASSERT_EQ(tailrace_decomposition_new_f(&shared, MPI_Comm_c2f(MPI_COMM_WORLD), shape.data(), 0, 0), 0) << text();
    ASSERT_EQ(tailrace_decomposition_box(shared, 1, start.data(), count.data()), 0);
    tailrace_decomposition_free(&shared);
    EXPECT_EQ(shared, nullptr);
  }
  void TearDown() override { tailrace_free(&series); }

  static std::string text() { return tailrace_error_text(); }
  int open(const char *mode, const char *engine = nullptr, const std::string &name = "out.h5") {
    return tailrace_open(series, MPI_COMM_WORLD, (folder + "/" + name).c_str(), mode, engine);
  }
  /// One step with `ux` in double precision.
  void write_step() {
    ASSERT_EQ(open("w"), 0) << text();
    ASSERT_EQ(tailrace_begin_step(series, 3, 0.5), 0) << text();
    ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr,
                                    values<double>(start, count).data()),
              0)
        << text();
    ASSERT_EQ(tailrace_end_step(series), 0) << text();
  }
  /// The call failed on every rank, and each can say why.
  void expect_error(int status, int expected, const std::string &says) {
    EXPECT_EQ(status, expected) << text();
    EXPECT_NE(text().find(says), std::string::npos) << text();
  }

  Communicator comm{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
  Three start{}, count{};
  tailrace_series *series = nullptr;
};

TEST_F(CApi, writesWithGhostsAndReadsAnyBox) {
  for (const char *name : {"out.h5", "out"}) {
    const Three ghosts{1, 2, 0}, none{0, 0, 0}, all = shape;
    const std::array<double, 3> origin{0, 1, 2}, spacing{0.5, 0.25, 0.125};
    ASSERT_EQ(tailrace_set_grid(series, shape.data(), origin.data(), spacing.data()), 0) << text();
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

    ASSERT_EQ(open("r", nullptr, name), 0) << text(); // the handle serves again
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

TEST_F(CApi, refusesToOpen) {
  expect_error(open("w", "hdf4"), TAILRACE_INPUT_ERROR, "unknown engine 'hdf4'");
  expect_error(open("x"), TAILRACE_INPUT_ERROR, "unknown mode 'x'");
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
  // A stream that nobody reads takes none, and what is written to it is checked all the same.
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
  expect_error(tailrace_begin_step(series, 1, 0), TAILRACE_INPUT_ERROR, "not open");
  expect_error(tailrace_begin_step(nullptr, 1, 0), TAILRACE_INPUT_ERROR, "null");
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
  // One rank alone is wrong: all hear of it, none waits.
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

TEST_F(CApi, refusesImpossibleDecompositions) {
  tailrace_decomposition *shared = nullptr;
  expect_error(tailrace_decomposition_new(&shared, MPI_COMM_WORLD, shape.data(), comm.size() + 1, 1),
               TAILRACE_INPUT_ERROR, "process grid");
  EXPECT_EQ(shared, nullptr);
  int64_t ignored[3];
  expect_error(tailrace_decomposition_box(shared, 0, ignored, ignored), TAILRACE_INPUT_ERROR, "null");
}

/// What the engines that hold lists and texts give back, through C.
class CApiEngines : public CApi, public testing::WithParamInterface<std::string> {
protected:
  int open_here(const char *mode) { return open(mode, GetParam().c_str(), "out"); }
  void start_step() {
    ASSERT_EQ(open_here("w"), 0) << text();
    ASSERT_EQ(tailrace_begin_step(series, 1, 0.5), 0) << text();
  }
  void finish_and_reopen() {
    ASSERT_EQ(tailrace_end_step(series), 0) << text();
    ASSERT_EQ(tailrace_close(series), 0) << text();
    ASSERT_EQ(open_here("r"), 0) << text();
  }
};

TEST_P(CApiEngines, fourDimensionsOfEveryTypeAreComponents) {
  const std::array<int64_t, 4> whole{11, 7, 13, 3}, from{start[0], start[1], start[2], 0},
      n{count[0], count[1], count[2], 3}, ghosts{1, 0, 2, 0};
  start_step();
  const auto write = [&](auto number, auto writer, const char *name) {
    using T = decltype(number);
    std::vector<T> f;
    for (int c = 0; c < 3; ++c)
      for (const T one : values<T>(start, count, {1, 0, 2}))
        f.push_back(one == T(-1) ? one : static_cast<T>(one + static_cast<T>(10000 * c)));
    ASSERT_EQ(writer(series, name, 4, whole.data(), from.data(), n.data(), ghosts.data(), f.data()), 0) << text();
  };
  write(float{}, tailrace_write_float, "f");
  write(double{}, tailrace_write_double, "d");
  write(int32_t{}, tailrace_write_int32, "i");
  write(int64_t{}, tailrace_write_int64, "l");
  const bool culprit = comm.rank() == comm.size() - 1;
  const std::array<int64_t, 4> other{11, 7, 13, culprit ? 2 : 3}, fewer{count[0], count[1], count[2], other[3]};
  const std::vector<double> data(3 * 11 * 7 * 13);
  if (comm.size() > 1) {
    expect_error(tailrace_write_double(series, "x", 4, other.data(), from.data(), fewer.data(), nullptr, data.data()),
                 TAILRACE_INPUT_ERROR, "components");
  }
  finish_and_reopen();
  const auto read = [&](auto number, auto reader, const char *name, int type) {
    using T = decltype(number);
    int64_t components = 0;
    ASSERT_EQ(tailrace_components(series, 0, name, &components), 0) << text();
    EXPECT_EQ(components, 3);
    int found = 0;
    ASSERT_EQ(tailrace_variable(series, 0, (std::string(name) + "_3").c_str(), nullptr, &found, nullptr), 0) << text();
    EXPECT_EQ(found, type);
    // Every rank another box, and another number of components.
    const int64_t wanted = 1 + comm.rank() % 2;
    const Three corner{2, 3, 4}, size{5, 1, 6};
    const std::array<int64_t, 4> at{2, 3, 4, 1}, box{5, 1, 6, wanted};
    std::vector<T> part(static_cast<std::size_t>(30 * wanted)), expected;
    ASSERT_EQ(reader(series, 0, name, 4, at.data(), box.data(), part.data()), 0) << text();
    for (int64_t c = 1; c <= wanted; ++c)
      for (const T one : values<T>(corner, size))
        expected.push_back(static_cast<T>(one + static_cast<T>(10000 * c)));
    EXPECT_EQ(part, expected);
  };
  read(float{}, tailrace_read_float, "f", TAILRACE_FLOAT32);
  read(double{}, tailrace_read_double, "d", TAILRACE_FLOAT64);
  read(int32_t{}, tailrace_read_int32, "i", TAILRACE_INT32);
  read(int64_t{}, tailrace_read_int64, "l", TAILRACE_INT64);
  const std::array<int64_t, 4> far{0, 0, 0, 2}, two{1, 1, 1, 2};
  double ignored[2];
  expect_error(tailrace_read_double(series, 0, "d", 4, far.data(), two.data(), ignored), TAILRACE_INPUT_ERROR,
               "has 3 components");
  expect_error(tailrace_read_double(series, 0, "none", 4, far.data(), two.data(), ignored), TAILRACE_INPUT_ERROR,
               "no variable 'none_1'");
  int32_t whole_number = 0;
  expect_error(tailrace_read_int32(series, 0, "d_1", 3, far.data(), two.data(), &whole_number), TAILRACE_INPUT_ERROR,
               "cannot be read as int32");
}

TEST_P(CApiEngines, listsHaveAsManyRowsAsEachRankLikes) {
  const int64_t mine = comm.rank() % 3; // ranks 0 and 3 have none
  std::vector<float> rows;
  for (int64_t r = 0; r < mine; ++r)
    rows.insert(rows.end(), {static_cast<float>(comm.rank()), static_cast<float>(r)});
  std::vector<int64_t> numbers(static_cast<std::size_t>(mine + 1), comm.rank());
  start_step();
  ASSERT_EQ(tailrace_write_list(series, "particles", TAILRACE_FLOAT32, mine, 2, rows.data()), 0) << text();
  ASSERT_EQ(tailrace_write_list(series, "ids", TAILRACE_INT64, mine + 1, 1, numbers.data()), 0) << text();
  finish_and_reopen();
  std::vector<float> expected;
  for (int rank = 0; rank < comm.size(); ++rank)
    for (int r = 0; r < rank % 3; ++r)
      expected.insert(expected.end(), {static_cast<float>(rank), static_cast<float>(r)});
  Three found{};
  int type = 0, is_list = 0;
  ASSERT_EQ(tailrace_variable(series, 0, "particles", found.data(), &type, &is_list), 0) << text();
  EXPECT_EQ(found, (Three{2, static_cast<int64_t>(expected.size() / 2), 1}));
  EXPECT_EQ(type, TAILRACE_FLOAT32);
  EXPECT_EQ(is_list, 1);
  std::vector<float> all(expected.size());
  ASSERT_EQ(tailrace_read_list(series, 0, "particles", TAILRACE_FLOAT32, 0, found[1], all.data()), 0) << text();
  EXPECT_EQ(all, expected);
  int64_t last = -1;
  ASSERT_EQ(tailrace_variable(series, 0, "ids", found.data(), nullptr, nullptr), 0) << text();
  ASSERT_EQ(tailrace_read_list(series, 0, "ids", TAILRACE_INT64, found[1] - 1, 1, &last), 0) << text();
  EXPECT_EQ(last, comm.size() - 1);
  expect_error(tailrace_read_list(series, 0, "ids", TAILRACE_INT64, found[1], 1, &last), TAILRACE_INPUT_ERROR,
               "outside");
}

TEST_P(CApiEngines, scalarsAndAttributesKeepTheirTypes) {
  const std::array<double, 2> reals{0.5, 0.25};
  const std::array<int64_t, 3> integers{1, int64_t{1} << 60, -3};
  start_step();
  ASSERT_EQ(tailrace_write_scalar_int64(series, "big", (int64_t{1} << 60) + 1), 0) << text();
  ASSERT_EQ(tailrace_write_scalar_text(series, "note", "a \"text\"\nof two lines"), 0) << text();
  ASSERT_EQ(tailrace_write_scalar(series, "real", 0.125), 0) << text();
  ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr,
                                  values<double>(start, count).data()),
            0)
      << text();
  ASSERT_EQ(tailrace_set_attribute(series, "spacing", 2, reals.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_int64(series, "integers", 3, integers.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_int64(series, "one", 1, integers.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_text(series, "ux/units", "m/s"), 0) << text();
  finish_and_reopen();
  int64_t big = 0, attributes = 0, numbers = 0;
  int type = -1;
  double real = 0;
  const char *words = nullptr;
  ASSERT_EQ(tailrace_read_scalar_int64(series, 0, "big", &big), 0) << text();
  EXPECT_EQ(big, (int64_t{1} << 60) + 1);
  ASSERT_EQ(tailrace_read_scalar_text(series, 0, "note", &words), 0) << text();
  EXPECT_STREQ(words, "a \"text\"\nof two lines");
  ASSERT_EQ(tailrace_scalar_type(series, 0, "note", &type), 0) << text();
  EXPECT_EQ(type, TAILRACE_TEXT);
  ASSERT_EQ(tailrace_read_scalar(series, 0, "big", &real), 0) << "integers are numbers: " << text();
  expect_error(tailrace_read_scalar_int64(series, 0, "real", &big), TAILRACE_INPUT_ERROR, "is no integer");
  expect_error(tailrace_read_scalar(series, 0, "note", &real), TAILRACE_INPUT_ERROR, "is no number");
  std::array<double, 2> back{};
  std::array<int64_t, 3> back_integers{};
  ASSERT_EQ(tailrace_get_attribute(series, "spacing", 2, back.data()), 0) << text();
  EXPECT_EQ(back, reals);
  ASSERT_EQ(tailrace_attribute(series, "integers", &type, &numbers), 0) << text();
  EXPECT_EQ(type, TAILRACE_INT64);
  EXPECT_EQ(numbers, 3);
  ASSERT_EQ(tailrace_get_attribute_int64(series, "integers", 3, back_integers.data()), 0) << text();
  EXPECT_EQ(back_integers, integers);
  ASSERT_EQ(tailrace_get_attribute_int64(series, "one", 1, &big), 0) << text();
  EXPECT_EQ(big, 1);
  ASSERT_EQ(tailrace_get_attribute_text(series, "ux/units", &words), 0) << text();
  EXPECT_STREQ(words, "m/s");
  expect_error(tailrace_get_attribute(series, "spacing", 3, back.data()), TAILRACE_INPUT_ERROR, "has 2 numbers");
  expect_error(tailrace_get_attribute_text(series, "units", &words), TAILRACE_INPUT_ERROR, "no attribute 'units'");
  ASSERT_EQ(tailrace_attributes(series, &attributes), 0) << text();
  std::vector<std::string> names;
  for (int64_t i = 0; i < attributes; ++i) {
    ASSERT_EQ(tailrace_attribute_name(series, i, &words), 0) << text();
    names.emplace_back(words);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"integers", "one", "spacing", "ux/units"}));
}

TEST_P(CApiEngines, regionsDeferredWritesAndWhatIsThere) {
  auto data = values<double>(start, count);
  const Three plane{0, 3, 0}, thin{6, 1, 5}, every{2, 1, 3};
  start_step();
  ASSERT_EQ(tailrace_write_deferred(series, "later", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                    nullptr, data.data()),
            0)
      << text();
  ASSERT_EQ(tailrace_write_region(series, "plane", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                  nullptr, data.data(), plane.data(), thin.data(), every.data()),
            0)
      << text();
  finish_and_reopen();
  int64_t variables = 0, read = 0;
  ASSERT_EQ(tailrace_variables(series, 0, &variables), 0) << text();
  EXPECT_EQ(variables, 2);
  const char *words = nullptr;
  std::vector<std::string> names;
  for (int64_t i = 0; i < variables; ++i) {
    ASSERT_EQ(tailrace_variable_name(series, 0, i, &words), 0) << text();
    names.emplace_back(words);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"later", "plane"}));
  expect_error(tailrace_variable_name(series, 0, 2, &words), TAILRACE_INPUT_ERROR, "no number 2");
  const Three none{0, 0, 0};
  std::vector<double> whole(11 * 7 * 13), points(30), expected;
  ASSERT_EQ(tailrace_read_double(series, 0, "later", 3, none.data(), shape.data(), whole.data()), 0) << text();
  EXPECT_EQ(whole, values<double>(none, shape));
  ASSERT_EQ(tailrace_read_double(series, 0, "plane", 3, none.data(), thin.data(), points.data()), 0) << text();
  for (int64_t z = 0; z < 5; ++z)
    for (int64_t x = 0; x < 6; ++x)
      expected.push_back(value(2 * x, 3, 3 * z));
  EXPECT_EQ(points, expected);
  ASSERT_EQ(tailrace_verify(series, 0, &words), 0) << text();
  EXPECT_STREQ(words, "");
  double seconds = -1;
  ASSERT_EQ(tailrace_counters(series, nullptr, &read, nullptr), 0) << text();
  EXPECT_GE(read, 8 * (11 * 7 * 13 + 30));
  ASSERT_EQ(tailrace_seconds(series, "read", &seconds), 0) << text();
  EXPECT_GT(seconds, 0);
  expect_error(tailrace_seconds(series, "raed", &seconds), TAILRACE_INPUT_ERROR, "unknown phase 'raed'");
  ASSERT_EQ(tailrace_notes(series, &words), 0) << text();
}

TEST_P(CApiEngines, aDeferredArrayThatChangesIsAnError) {
  auto data = values<double>(start, count);
  start_step();
  ASSERT_EQ(tailrace_write_deferred(series, "later", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                    nullptr, data.data()),
            0)
      << text();
  if (comm.rank() == 0)
    data[0] += 1;
  expect_error(tailrace_end_step(series), TAILRACE_INPUT_ERROR, "'later' was changed");
}

TEST_P(CApiEngines, verifyNamesWhatIsDamaged) {
  const auto data = values<double>(start, count);
  start_step();
  ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr, data.data()), 0);
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  if (comm.rank() == 0)
    for (const auto &file : fs::recursive_directory_iterator(folder)) {
      if (!file.is_regular_file())
        continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string pattern(reinterpret_cast<const char *>(&data.back()), sizeof(double));
      const std::string all{std::istreambuf_iterator<char>(bytes), {}};
      if (all.find(pattern) == std::string::npos)
        continue;
      bytes.clear();
      bytes.seekp(static_cast<std::streamoff>(all.find(pattern)));
      bytes.put('\x7f');
    }
  comm.barrier();
  ASSERT_EQ(open_here("r"), 0) << text();
  const char *words = nullptr;
  ASSERT_EQ(tailrace_verify(series, 0, &words), 0) << text();
  EXPECT_NE(comm.broadcast(words, 0).find("ux"), std::string::npos) << words;
}

// Add an engine here when it holds lists and texts.
INSTANTIATE_TEST_SUITE_P(Engines, CApiEngines, testing::Values("raw", "sion", "hdf5", "bp5"),
                         [](const auto &engine) { return engine.param; });

} // namespace
