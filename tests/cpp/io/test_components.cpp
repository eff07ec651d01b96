// Arrays of four dimensions, and other requests that only bindings of languages make, with their errors.
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/components.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <numeric>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using namespace tailrace::test;

namespace {

class Components : public testing::Test {
protected:
  /// Each rank has one plane of 4 x 3 points.
  std::int64_t rank = Communicator(MPI_COMM_WORLD).rank(), size = Communicator(MPI_COMM_WORLD).size();
  Index3 shape{4, 3, size};
  Box block{{0, 0, rank}, {4, 3, 1}};
  Communicator comm{MPI_COMM_WORLD};
  SharedFolder made;
  const std::string path = std::string(made) + "/run";
  std::vector<double> values(std::int64_t count) const {
    std::vector<double> all(static_cast<std::size_t>(12 * count));
    std::iota(all.begin(), all.end(), 1000.0 * static_cast<double>(rank));
    return all;
  }
};

TEST_F(Components, ComeBackOneByOne) {
  EXPECT_EQ(component_name("u", 0), "u_1");
  const std::vector<double> data = values(3);
  {
    Series out(path, Mode::write, comm);
    EXPECT_EQ(out.mode(), Mode::write);
    EXPECT_FALSE(out.last_index());
    EXPECT_TRUE(out.begin_step(4, 0.5));
    EXPECT_TRUE(out.step_taken());
    write_components(out, "u", Type::float64, data.data(), {shape, block, block}, 3);
    write_components(out, "line", Type::float64, data.data(), {shape, block, block}, 2, Put::sync,
                     Region{{1, 2, 0}, {2, 1, 1}, {2, 1, 1}});
    out.write("u_5", data.data(), {shape, block, block}); // after a gap
    out.end_step();
    EXPECT_EQ(out.last_index(), 4);
    out.close();
  }
  const Series in(path, Mode::read, comm);
  EXPECT_EQ(in.mode(), Mode::read);
  EXPECT_EQ(in.last_index(), 4);
  EXPECT_EQ(count_components(in, 0, "u"), 3);
  EXPECT_EQ(count_components(in, 0, "line"), 2);
  EXPECT_EQ(count_components(in, 0, "v"), 0);
  std::vector<double> found(36, -1), two(24, -1);
  read_components(in, 0, "u", Type::float64, block, 0, 3, found.data());
  EXPECT_EQ(found, data);
  read_components(in, 0, "u", Type::float64, block, 1, 2, two.data());
  EXPECT_EQ(two, std::vector<double>(data.begin() + 12, data.end()));
  read_components(in, 0, "u", Type::float64, block, 3, 0, nullptr);
  std::vector<double> ends(4, -1);
  read_components(in, 0, "line", Type::float64, {{0, 0, 0}, {2, 1, 1}}, 0, 2, ends.data());
  EXPECT_EQ(ends, (std::vector<double>{9, 11, 21, 23})) << "of the first rank";
  const auto told = [&](std::int64_t first, std::int64_t count) {
    return error_of<InputError>([&] { read_components(in, 0, "u", Type::float64, block, first, count, found.data()); });
  };
  EXPECT_PRED2(has, told(1, 3), path + ": 'u' has 3 components; 3 from number 1 on were asked for");
  EXPECT_PRED2(has, told(-1, 1), path + ": 'u' has 3 components; 1 from number -1 on were asked for");
  EXPECT_PRED2(has, told(0, -1), path + ": 'u' has 3 components; -1 from number 0 on were asked for");
  EXPECT_TRUE(
      has(error_of<InputError>([&] { read_components(in, 0, "v", Type::float64, block, 0, 1, found.data()); }), "v_1"));
}

TEST_F(Components, WrongRequestsLeaveTheStepOpen) {
  const std::vector<double> data = values(2);
  Series out(path, Mode::write, comm);
  out.declare("w", shape, Type::float32);
  EXPECT_PRED2(has, error_of<InputError>([&] { out.declare("w", shape, Type::float32); }),
               path + ": 'w' is already declared or written");
  out.begin_step(0, 0);
  const auto write = [&](std::int64_t components) {
    write_components(out, "u", Type::float64, data.data(), {shape, block, block}, components);
  };
  EXPECT_PRED2(has, error_of<InputError>([&] { write(0); }), path + ": 'u' has 0 components; expected at least 1");
  EXPECT_PRED2(has, error_of<InputError>([&] { out.write_list("p", data.data(), 3, 0); }),
               "p: no list has 3 rows of 0 columns");
  EXPECT_PRED2(has, error_of<InputError>([&] { out.write_list("p", data.data(), -1, 2); }),
               "p: no list has -1 rows of 2 columns");
  out.write_list("p", data.data(), 0, 2);
  write(2);
  EXPECT_THROW(write(2), InputError) << "they are there already";
  out.write("w", data.data(), {shape, block, block});
  out.end_step();
  out.close();
  const Series in(path, Mode::read, comm);
  EXPECT_EQ(in.variable(0, "w").type, Type::float32);
  EXPECT_EQ(in.variable(0, "p").shape, (Index3{2, 0, 1}));
  EXPECT_EQ(count_components(in, 0, "u"), 2);
}

TEST(NullEngine, KeepsItsGridAndDropsSteps) {
  const Communicator alone(MPI_COMM_SELF);
  Options options;
  options.engine = "null";
  options.grid = GridDescription{{4, 3, 2}, {0, 0, 0}, {1, 2, 3}, {}};
  Series out("/nowhere/at/all", Mode::write, alone, options);
  ASSERT_TRUE(out.grid());
  EXPECT_EQ(out.grid()->spacing[2], 3);
  out.begin_step(3, 0);
  out.abandon_step();
  out.abandon_step();
  EXPECT_TRUE(out.steps().empty());
  out.begin_step(3, 0);
  out.end_step();
  EXPECT_EQ(out.counters().steps, 1);
}

} // namespace
