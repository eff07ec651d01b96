// The C interface: attributes that are set before open, and the names of functions in the texts of errors.
#include "c_api_test.hpp"

#include <algorithm>

using namespace tailrace;
using namespace tailrace::test;

namespace {

class CApiAttributes : public CApi {
protected:
  void set_three() {
    const double range[2] = {0.5, 1.5};
    const int64_t runs = 7;
    ASSERT_EQ(tailrace_set_attribute_text(series, "case", comm.rank() == 0 ? "tgv" : "of another rank"), 0) << text();
    ASSERT_EQ(tailrace_set_attribute(series, "ux/range", 2, range), 0) << text();
    ASSERT_EQ(tailrace_set_attribute_int64(series, "runs", 1, &runs), 0) << text();
  }
  void expect_three() {
    int64_t number = -1, runs = -1;
    double range[2] = {};
    const char *name = nullptr;
    ASSERT_EQ(tailrace_attributes(series, &number), 0) << text();
    EXPECT_EQ(number, 3);
    ASSERT_EQ(tailrace_get_attribute_text(series, "case", &name), 0) << text();
    EXPECT_STREQ(name, "tgv") << "the value of rank 0";
    ASSERT_EQ(tailrace_get_attribute(series, "ux/range", 2, range), 0) << text();
    EXPECT_EQ(range[1], 1.5);
    ASSERT_EQ(tailrace_get_attribute_int64(series, "runs", 1, &runs), 0) << text();
    EXPECT_EQ(runs, 7);
  }
  void reopen(const char *mode, const std::string &name = "out.h5") {
    ASSERT_EQ(tailrace_close(series), 0) << text();
    ASSERT_EQ(open(mode, nullptr, name), 0) << text();
  }
};

TEST_F(CApiAttributes, setBeforeOpenAreThoseOfThisSeriesAlone) {
  for (const std::string name : {"out.h5", "out.raw", "out.sion"}) {
    set_three();
    ASSERT_EQ(open("w", name == "out.raw" ? "raw" : nullptr, name), 0) << text();
    reopen("r", name);
    expect_three();
    reopen("w", "other.h5");
    reopen("r", "other.h5");
    int64_t number = -1;
    ASSERT_EQ(tailrace_attributes(series, &number), 0) << text();
    EXPECT_EQ(number, 0);
    ASSERT_EQ(tailrace_close(series), 0) << text();
  }
}

TEST_F(CApiAttributes, setBeforeAppendingChangeThoseThatAreThere) {
  ASSERT_EQ(tailrace_set_attribute_text(series, "case", "channel"), 0) << text();
  write_step();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  set_three();
  ASSERT_EQ(open("a"), 0) << text();
  reopen("r");
  expect_three();
}

TEST_F(CApiAttributes, ofTheBoxGiveWayToThoseOfTheCaller) {
  const double origin[3] = {0, 0, 0}, spacing[3] = {0.1, 0.2, 0.3}, lengths[3] = {1.1, 1.4, 3.9};
  const double own[3] = {1, 2, 3};
  const auto set_grid = [&] {
    ASSERT_EQ(tailrace_set_grid(series, shape.data(), origin, spacing, lengths, "periodic,periodic,periodic"), 0);
  };
  ASSERT_EQ(tailrace_set_attribute(series, "lengths", 3, own), 0) << text();
  set_grid();
  write_step();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  set_grid(); // of no use to a reader, and no error
  ASSERT_EQ(open("r"), 0) << text();
  double found[3] = {};
  ASSERT_EQ(tailrace_get_attribute(series, "lengths", 3, found), 0) << text();
  EXPECT_TRUE(std::equal(found, found + 3, own));
  const char *boundaries = nullptr;
  ASSERT_EQ(tailrace_get_attribute_text(series, "boundaries", &boundaries), 0) << text();
}

TEST_F(CApiAttributes, thatCannotBeSetAreRefusedAtOnce) {
  const double value = 1;
  expect_error(tailrace_set_attribute(series, "", 1, &value), TAILRACE_INPUT_ERROR, "tailrace_set_attribute: ''");
  expect_error(tailrace_set_attribute(series, "a b", 1, &value), TAILRACE_INPUT_ERROR, "'a b'");
  expect_error(tailrace_set_attribute(series, "reynolds", 0, &value), TAILRACE_INPUT_ERROR,
               "attribute 'reynolds' has 0 numbers: expected at least 1");
  expect_error(tailrace_set_attribute_int64(series, "runs", 1, nullptr), TAILRACE_INPUT_ERROR,
               "tailrace_set_attribute_int64: values is a null pointer");
  expect_error(tailrace_set_attribute_text(nullptr, "case", "tgv"), TAILRACE_INPUT_ERROR,
               "tailrace_set_attribute_text: series is a null pointer");
  write_step(); // nothing of it was kept
  reopen("r");
  int64_t number = -1;
  ASSERT_EQ(tailrace_attributes(series, &number), 0) << text();
  EXPECT_EQ(number, 0);
}

TEST_F(CApiAttributes, thatOpenCannotSetLeaveItClosed) {
  write_step();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  set_three();
  expect_error(open("r"), TAILRACE_INPUT_ERROR, "out.h5: the attributes 'case, runs, ux/range' were set before open");
  EXPECT_EQ(tailrace_is_open(series), 0);
  ASSERT_EQ(open("r"), 0) << "attributes are those of one open: " << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  if (comm.size() == 1)
    return;
  const int last = comm.size() - 1;
  ASSERT_EQ(tailrace_set_attribute_text(series, comm.rank() == last ? "name" : "case", "tgv"), 0) << text();
  expect_error(open("a"), TAILRACE_INPUT_ERROR,
               "rank " + std::to_string(last) + " has set the attributes 'name', and rank 0 has set 'case'");
  EXPECT_EQ(tailrace_is_open(series), 0);
}

TEST_F(CApiAttributes, textsNameTheFunctionThatFailed) {
  int64_t number = 0;
  double value = 0;
  expect_error(tailrace_begin_step(series, 1, 0), TAILRACE_INPUT_ERROR, "tailrace_begin_step: the series is not open");
  expect_error(tailrace_write_double(series, "ux", 1, &number, &number, &number, nullptr, &value), TAILRACE_INPUT_ERROR,
               "tailrace_write: the series is not open");
  expect_error(tailrace_write_list(series, "ux", TAILRACE_FLOAT64, 1, 1, &value), TAILRACE_INPUT_ERROR,
               "tailrace_write_list: the series is not open");
  expect_error(tailrace_get_attribute_int64(series, "runs", 1, &number), TAILRACE_INPUT_ERROR,
               "tailrace_get_attribute_int64: the series is not open");
  expect_error(open("v"), TAILRACE_INPUT_ERROR, "tailrace_open: ");
  expect_error(tailrace_open_f(series, MPI_Comm_c2f(MPI_COMM_WORLD), "out.h5", "v", nullptr), TAILRACE_INPUT_ERROR,
               "tailrace_open_f: out.h5: unknown mode 'v'");
}

TEST_F(CApiAttributes, theFirstRankPrintsAnErrorAtOnce) {
  if (comm.rank() != 0)
    return;
  expect_error(tailrace_open(series, MPI_COMM_SELF, "out.h5", "v", nullptr), TAILRACE_INPUT_ERROR, "unknown mode 'v'");
  testing::internal::CaptureStderr();
  tailrace_print_error(nullptr);
  tailrace_print_error("of the caller");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), text() + "\nof the caller\n");
}

} // namespace
