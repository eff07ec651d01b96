#include "io_configurations.hpp"
#include "shared_folder.hpp"
#include <tailrace/io/report.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

const Index3 points{17, 12, 9};
const Index3 centres{16, 11, 8};

double value(std::int64_t i, std::int64_t j, std::int64_t k, double salt = 0) {
  return static_cast<double>(i) + 100.0 * static_cast<double>(j) + 10000.0 * static_cast<double>(k) + salt;
}

/// The part of a rank in an uneven division of y and z: pencils along x.
Box pencil(const Index3 &n, int rank, int size) {
  int rows = 1;
  for (int r = 2; r * r <= size; ++r)
    if (size % r == 0)
      rows = r;
  const int columns = size / rows;
  const auto part = [](std::int64_t total, int parts, int which) {
    // Uneven on purpose: the first part is one larger than its share.
    const auto edge = [&](int p) { return p == 0 ? 0 : p == parts ? total : std::min(total, total * p / parts + 1); };
    return std::pair{edge(which), edge(which + 1) - edge(which)};
  };
  const auto [y, ny] = part(n[1], rows, rank % rows);
  const auto [z, nz] = part(n[2], columns, rank / rows);
  return {{0, y, z}, {n[0], ny, nz}};
}

/// Slabs along x; ranks beyond the size get nothing.
Box slab(const Index3 &n, int rank, int size) {
  const std::int64_t begin = n[0] * rank / size, end = n[0] * (rank + 1) / size;
  return {{begin, 0, 0}, {end - begin, n[1], n[2]}};
}

Box with_ghosts(Box box, std::int64_t width) {
  for (int d = 0; d < 3; ++d) {
    box.start[d] -= width;
    box.count[d] += 2 * width;
  }
  return box;
}

/// An array over `memory` that has `value` inside `block` and rubbish around it.
template <class T> std::vector<T> filled(const Box &memory, const Box &block, double salt) {
  std::vector<T> data;
  for (std::int64_t k = memory.start[2]; k < memory.end(2); ++k)
    for (std::int64_t j = memory.start[1]; j < memory.end(1); ++j)
      for (std::int64_t i = memory.start[0]; i < memory.end(0); ++i)
        data.push_back(static_cast<T>(block.contains({{i, j, k}, {1, 1, 1}}) ? value(i, j, k, salt) : -7777.0));
  return data;
}

class SeriesTest : public testing::TestWithParam<std::string> {
protected:
  std::string path(const std::string &name = "run") const { return folder + "/" + name + io_suffix(engine()); }
  static std::string engine() { return io_configuration(GetParam()).engine; }
  Options options() const {
    Options result;
    result.engine = engine();
    result.parameters = io_configuration(GetParam()).parameters;
    result.grid = GridDescription{points, {0.5, -1, 2}, {0.1, 0.2, 0.3}};
    return result;
  }
  template <class T>
  void write(Series &series, const std::string &name, const Index3 &n, double salt, std::int64_t ghosts = 0) {
    const Box block = pencil(n, comm.rank(), comm.size()), memory = with_ghosts(block, ghosts);
    auto data = filled<T>(memory, block, salt);
    series.write(name, data.data(), {n, block, memory});
    std::fill(data.begin(), data.end(), T{-1}); // the series must have taken what it needs
  }
  void write_steps(Series &series, std::int64_t first, std::int64_t last, double salt = 0) {
    for (std::int64_t step = first; step <= last; ++step) {
      series.begin_step(10 * step, 0.5 * static_cast<double>(step));
      write<double>(series, "ux", points, salt + 0.25 * static_cast<double>(step), 2);
      series.end_step();
    }
  }
  template <class T>
  void expect(const Series &series, std::size_t step, const std::string &name, const Box &box, double salt) {
    std::vector<T> data(static_cast<std::size_t>(box.size()), T{-5});
    series.read(step, name, box, data.data());
    EXPECT_EQ(data, filled<T>(box, box, salt)) << name << " in step " << step;
  }
  Communicator comm{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
};

TEST_P(SeriesTest, WritesBlocksWithGhostsAndReadsOtherBoxes) {
  {
    Series out(path(), Mode::write, comm, options());
    EXPECT_EQ(out.engine(), engine());
    for (int step = 0; step < 3; ++step) {
      out.begin_step(5 + step, 0.1 * step);
      write<double>(out, "ux", points, step, 2);
      write<float>(out, "uy", points, step, 0);
      write<double>(out, "pp", centres, step, 1);
      out.write_scalar("energy", 0.125 * step);
      out.end_step();
    }
    out.close();
    const std::int64_t bytes = comm.sum(out.counters().bytes_written);
    EXPECT_EQ(bytes, 3 * (12 * product(points) + 8 * product(centres)));
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 3u);
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_EQ(in.steps()[step].index, 5 + static_cast<std::int64_t>(step));
    EXPECT_DOUBLE_EQ(in.steps()[step].time, 0.1 * static_cast<double>(step));
    EXPECT_EQ(in.variables(step).size(), 3u);
    EXPECT_EQ(in.scalars(step).at("energy"), Scalar(0.125 * static_cast<double>(step)));
    const double salt = static_cast<double>(step);
    expect<double>(in, step, "ux", slab(points, comm.rank(), comm.size()), salt);
    expect<float>(in, step, "uy", Box{{0, 0, 0}, points}, salt);
    expect<double>(in, step, "pp", Box{{3, 2, 1}, {7, 1, 6}}, salt);
    expect<double>(in, step, "ux", Box{{16, 0, 0}, {1, 12, 9}}, salt);
    expect<float>(in, step, "ux", Box{{1, 2, 3}, {4, 5, 6}}, salt); // converted
    EXPECT_TRUE(in.verify(step).empty());
  }
  EXPECT_EQ(in.variable(0, "pp").shape, centres);
  EXPECT_EQ(in.variable(0, "uy").type, Type::float32);
  ASSERT_TRUE(in.grid());
  EXPECT_EQ(in.grid()->points, points);
  EXPECT_EQ(in.grid()->spacing[2], 0.3);
}

TEST_P(SeriesTest, ReadsOnOneRankWhatManyWrote) {
  {
    Series out(path(), Mode::write, comm, options());
    write_steps(out, 1, 2);
    out.close();
  }
  comm.barrier();
  const Series in(path(), Mode::read, comm.split(comm.rank(), 0));
  expect<double>(in, 1, "ux", Box{{0, 0, 0}, points}, 0.5);
}

TEST_P(SeriesTest, StoresFloat32OnRequest) {
  Options request = options();
  request.precision = Type::float32;
  {
    Series out(path(), Mode::write, comm, request);
    out.declare("uz", points, Type::float64);
    out.begin_step(1, 0);
    write<double>(out, "ux", points, 0, 2);
    write<double>(out, "uz", points, 0.1, 2);
    out.end_step();
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  EXPECT_EQ(in.variable(0, "ux").type, Type::float32);
  EXPECT_EQ(in.variable(0, "uz").type, Type::float64);
  expect<float>(in, 0, "ux", Box{{0, 0, 0}, points}, 0);
  expect<double>(in, 0, "uz", Box{{0, 0, 0}, points}, 0.1);
  EXPECT_TRUE(in.verify(0).empty());
}

TEST_P(SeriesTest, AllOnOneRankAndManyChunks) {
  Options request = options();
  if (engine() == "bp5")
    request.parameters = {{"aggregationtype", "TwoLevelShm"}, {"NumAggregators", "1"}, {"StatsLevel", "1"}};
  if (engine() == "bp4")
    request.parameters = {{"substreams", "1"}};
  if (engine() == "adios_hdf5")
    request.parameters = {{"h5collectivempio", "yes"}, {"H5ChunkDim", "4 4 4"}};
  if (engine() == "sion")
    request.parameters = {{"chunk_bytes", "5000"}, {"block_bytes", "512"}, {"files", "2"}};
  if (engine() == "hdf5") // three planes of ux, and a last chunk that is not full
    request.parameters = {{"transfer", "collective"}, {"chunk_bytes", "5000"}};
  request.parameters["sync"] = "on";
  {
    Series out(path(), Mode::write, comm, request);
    write_steps(out, 1, 2);
    out.begin_step(30, 1.5);
    const std::int64_t whole = comm.rank() == comm.size() - 1; // all on one rank, nothing on the others
    const Box block{{0, 0, 0}, {whole * points[0], points[1], points[2]}};
    const auto data = filled<double>(block, block, 0.75);
    out.write("ux", data.data(), {points, block, block});
    out.end_step();
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  for (std::size_t step = 0; step < 3; ++step)
    expect<double>(in, step, "ux", slab(points, comm.rank(), comm.size()), 0.25 * static_cast<double>(step + 1));
}

TEST_P(SeriesTest, AppendsAndRewinds) {
  {
    Series out(path(), Mode::write, comm, options());
    out.attribute("case", "tgv");
    write_steps(out, 1, 4);
    out.close();
  }
  Options rewound = options();
  rewound.rewind_to = 25; // keeps 10 and 20
  {
    Series out(path(), Mode::append, comm, rewound);
    ASSERT_EQ(out.steps().size(), 2u);
    write_steps(out, 3, 5, 1000);
    out.close();
  }
  {
    Series out(path(), Mode::append, comm, options());
    ASSERT_EQ(out.steps().size(), 5u);
    EXPECT_THROW(out.begin_step(50, 1), InputError);
    write_steps(out, 6, 6, 1000);
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 6u);
  for (std::size_t step = 0; step < 6; ++step) {
    const double number = static_cast<double>(step + 1);
    EXPECT_EQ(in.steps()[step].index, 10 * (static_cast<std::int64_t>(step) + 1));
    expect<double>(in, step, "ux", slab(points, comm.rank(), comm.size()), 0.25 * number + (step < 2 ? 0 : 1000));
    EXPECT_TRUE(in.verify(step).empty());
  }
  EXPECT_EQ(std::get<std::string>(in.attributes().at("case")), "tgv");
}

TEST_P(SeriesTest, RewindsToNothingAndAppendsToNothing) {
  Options rewound = options();
  rewound.rewind_to = -1;
  for (int round = 0; round < 2; ++round) {
    Series out(path(), Mode::append, comm, rewound);
    EXPECT_TRUE(out.steps().empty());
    write_steps(out, 1, 2, round);
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 2u);
  expect<double>(in, 1, "ux", Box{{0, 0, 0}, points}, 1.5);
}

TEST_P(SeriesTest, OpensWhatHasNoSteps) {
  for (const bool closed : {true, false}) { // not closed, it is as after a kill before the first step
    const std::string place = path(closed ? "closed" : "cut");
    {
      Series out(place, Mode::write, comm, options());
      if (closed)
        out.close();
    }
    comm.barrier();
    {
      Series in(place, Mode::read, comm);
      EXPECT_TRUE(in.steps().empty());
      in.close();
    }
    comm.barrier();
    {
      Series out(place, Mode::append, comm, options());
      EXPECT_TRUE(out.steps().empty());
      write_steps(out, 1, 1);
      out.close();
    }
    const Series in(place, Mode::read, comm);
    ASSERT_EQ(in.steps().size(), 1u);
    expect<double>(in, 0, "ux", Box{{0, 0, 0}, points}, 0.25);
  }
}

TEST_P(SeriesTest, KeepsAttributesOfEveryKind) {
  {
    Series out(path(), Mode::write, comm, options());
    out.attribute("text", "before");
    out.attribute("lines", "Re = 1600\nsecond line");
    out.attribute("whole", std::int64_t{-3});
    out.attribute("real", 0.1);
    out.attribute("wholes", std::vector<std::int64_t>{1, 2, 3});
    out.attribute("reals", std::vector<double>{0.5, 0.25});
    write_steps(out, 1, 1);
    out.attribute("text", "changed between steps");
    out.attribute("between", 7.5);
    write_steps(out, 2, 2);
    out.attribute("late", "after the last step");
    out.close();
  }
  {
    Series out(path(), Mode::append, comm, options()); // which loses none of them
    EXPECT_EQ(out.attributes().at("late"), Attribute("after the last step"));
    write_steps(out, 3, 3);
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  const Attributes found = in.attributes();
  EXPECT_EQ(found.at("text"), Attribute("changed between steps"));
  EXPECT_EQ(found.at("late"), Attribute("after the last step"));
  EXPECT_EQ(found.at("between"), Attribute(7.5));
  EXPECT_EQ(found.at("lines"), Attribute("Re = 1600\nsecond line"));
  EXPECT_EQ(found.at("whole"), Attribute(std::int64_t{-3}));
  EXPECT_EQ(found.at("real"), Attribute(0.1));
  EXPECT_EQ(found.at("wholes"), Attribute(std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(found.at("reals"), Attribute(std::vector<double>{0.5, 0.25}));
}

TEST_P(SeriesTest, DropsAStepThatWasNotEnded) {
  {
    Series out(path(), Mode::write, comm, options());
    write_steps(out, 1, 2);
    out.begin_step(30, 1.5);
    write<double>(out, "ux", points, 99);
    // goes out of scope, as it does when an exception flies past
  }
  comm.barrier();
  {
    const Series in(path(), Mode::read, comm);
    ASSERT_EQ(in.steps().size(), 2u);
    expect<double>(in, 1, "ux", Box{{0, 0, 0}, points}, 0.5);
  }
  comm.barrier();
  {
    Series out(path(), Mode::append, comm, options());
    write_steps(out, 3, 3);
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 3u);
  expect<double>(in, 2, "ux", Box{{0, 0, 0}, points}, 0.75);
}

TEST_P(SeriesTest, NewSeriesReplacesOld) {
  for (int round = 0; round < 2; ++round) {
    Series out(path(), Mode::write, comm, options());
    write_steps(out, 1, 2 - round, round);
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 1u);
  expect<double>(in, 0, "ux", Box{{0, 0, 0}, points}, 1.25);
}

TEST_P(SeriesTest, VerifyNamesWhatIsDamaged) {
  {
    Series out(path(), Mode::write, comm, options());
    write_steps(out, 1, 2);
    out.close();
  }
  if (comm.rank() == 0) { // one number in the data of the second step
    const double wanted = value(3, 4, 5, 0.5);
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file())
        continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      const auto at = text.find(std::string(reinterpret_cast<const char *>(&wanted), 8));
      if (at == std::string::npos)
        continue;
      file.clear();
      file.seekp(static_cast<std::streamoff>(at));
      file.put('\x55');
    }
  }
  comm.barrier();
  const Series in(path(), Mode::read, comm);
  EXPECT_TRUE(in.verify(0).empty());
  const auto damage = in.verify(1);
  ASSERT_EQ(damage.size(), 1u);
  EXPECT_NE(damage[0].find("ux"), std::string::npos);
}

TEST_P(SeriesTest, KeepsIntegersAndTexts) {
  {
    Series out(path(), Mode::write, comm, options());
    for (int step = 0; step < 2; ++step) {
      out.begin_step(step, step);
      write<std::int32_t>(out, "mask", points, step, 1);
      write<std::int64_t>(out, "number", centres, step, 0);
      out.write_scalar("count", std::int64_t{1} << (40 + step));
      out.write_scalar("state", "\"laminar\", so far" + std::string(static_cast<std::size_t>(step), '!'));
      out.end_step();
    }
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  for (std::size_t step = 0; step < 2; ++step) {
    const double salt = static_cast<double>(step);
    EXPECT_EQ(in.variable(step, "mask").type, Type::int32);
    expect<std::int32_t>(in, step, "mask", slab(points, comm.rank(), comm.size()), salt);
    expect<std::int64_t>(in, step, "number", Box{{0, 0, 0}, centres}, salt);
    expect<double>(in, step, "mask", Box{{1, 2, 3}, {4, 5, 6}}, salt);
    EXPECT_EQ(in.scalars(step).at("count"), Scalar(std::int64_t{1} << (40 + step)));
    EXPECT_EQ(in.scalars(step).at("state"), Scalar("\"laminar\", so far" + std::string(step, '!')));
    EXPECT_TRUE(in.verify(step).empty());
  }
  std::vector<float> data(1);
  EXPECT_THROW(in.read(0, "state", Box{{0, 0, 0}, {1, 1, 1}}, data.data()), InputError);
  std::vector<std::int32_t> whole(1);
  EXPECT_THROW(in.read(0, "number", Box{{0, 0, 0}, {1, 1, 1}}, whole.data()), InputError);
}

TEST_P(SeriesTest, KeepsListsOfAnyLength) {
  // Rank r has r rows in the first step, none in the second, and in the third only the last rank has some.
  const auto rows_of = [&](std::size_t step) {
    return step == 0 ? comm.rank() : step == 1 ? 0 : comm.rank() == comm.size() - 1 ? 5 : 0;
  };
  {
    Series out(path(), Mode::write, comm, options());
    for (std::size_t step = 0; step < 3; ++step) {
      out.begin_step(static_cast<std::int64_t>(step), 0);
      write<double>(out, "ux", points, static_cast<double>(step), 0);
      std::vector<double> positions;
      std::vector<std::int64_t> labels;
      for (int row = 0; row < rows_of(step); ++row) {
        for (int column = 0; column < 3; ++column)
          positions.push_back(100 * comm.rank() + 10 * row + column);
        labels.push_back(1000 * comm.rank() + row);
      }
      out.write_list("positions", positions.data(), rows_of(step), 3);
      out.write_list("labels", labels.data(), rows_of(step));
      std::fill(positions.begin(), positions.end(), -1);
      out.end_step();
    }
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  for (std::size_t step = 0; step < 3; ++step) {
    std::vector<double> positions;
    std::vector<std::int64_t> labels;
    for (int rank = 0; rank < comm.size(); ++rank)
      for (int row = 0; row < (step == 0 ? rank : step == 1 ? 0 : rank == comm.size() - 1 ? 5 : 0); ++row) {
        for (int column = 0; column < 3; ++column)
          positions.push_back(100 * rank + 10 * row + column);
        labels.push_back(1000 * rank + row);
      }
    const auto rows = static_cast<std::int64_t>(labels.size());
    const VariableInfo info = in.variable(step, "positions");
    EXPECT_TRUE(info.list);
    EXPECT_FALSE(in.variable(step, "ux").list);
    EXPECT_EQ(info.shape, (Index3{3, rows, 1}));
    std::vector<double> found(positions.size());
    std::vector<std::int64_t> found_labels(labels.size());
    in.read(step, "positions", Box{{0, 0, 0}, info.shape}, found.data());
    in.read(step, "labels", Box{{0, 0, 0}, {1, rows, 1}}, found_labels.data());
    EXPECT_EQ(found, positions);
    EXPECT_EQ(found_labels, labels);
    EXPECT_TRUE(in.verify(step).empty());
    expect<double>(in, step, "ux", slab(points, comm.rank(), comm.size()), static_cast<double>(step));
  }
}

TEST_P(SeriesTest, StoresPlanesLinesAndEveryNthPoint) {
  const std::map<std::string, Region> regions{{"plane", {{0, 0, 4}, {17, 12, 1}}},
                                              {"line", {{3, 0, 4}, {1, 12, 1}}},
                                              {"box", {{2, 3, 1}, {5, 6, 7}}},
                                              {"coarse", {{1, 0, 2}, {8, 4, 3}, {2, 3, 3}}}};
  {
    Series out(path(), Mode::write, comm, options());
    out.begin_step(0, 0);
    const Box block = pencil(points, comm.rank(), comm.size()), memory = with_ghosts(block, 2);
    const auto data = filled<double>(memory, block, 0.5);
    for (const auto &[name, region] : regions)
      out.write_region(name, data.data(), {points, block, memory}, region);
    EXPECT_THROW(out.write_region("far", data.data(), {points, block, memory}, {{0, 0, 0}, {9, 1, 1}, {3, 1, 1}}),
                 InputError);
    out.end_step();
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  for (const auto &[name, region] : regions) {
    EXPECT_EQ(in.variable(0, name).shape, region.count);
    std::vector<double> expected, found(static_cast<std::size_t>(product(region.count)));
    for (std::int64_t k = 0; k < region.count[2]; ++k)
      for (std::int64_t j = 0; j < region.count[1]; ++j)
        for (std::int64_t i = 0; i < region.count[0]; ++i)
          expected.push_back(value(region.start[0] + i * region.stride[0], region.start[1] + j * region.stride[1],
                                   region.start[2] + k * region.stride[2], 0.5));
    in.read(0, name, Box{{0, 0, 0}, region.count}, found.data());
    EXPECT_EQ(found, expected) << name;
  }
}

TEST_P(SeriesTest, DefersWritesAndCatchesChangedArrays) {
  const Box block = pencil(points, comm.rank(), comm.size()), memory = with_ghosts(block, 1);
  {
    Series out(path(), Mode::write, comm, options());
    auto data = filled<double>(memory, block, 1);
    out.begin_step(1, 0.1);
    out.write("ux", data.data(), {points, block, memory}, Put::deferred);
    std::fill(data.begin(), data.begin() + 1, 5.0); // a ghost, which does not count
    out.end_step();
    out.begin_step(2, 0.2);
    out.write("ux", data.data(), {points, block, memory}, Put::deferred);
    const std::size_t first = static_cast<std::size_t>((memory.count[1] + 1) * memory.count[0] + 1);
    if (comm.rank() == comm.size() - 1)
      data[first] += 1;
    try {
      out.end_step();
      out.flush(); // with buffers it is the background that finds out
      FAIL() << "the change was not found";
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find("'ux' was changed"), std::string::npos) << error.what();
    }
    if (engine() == "bp5" || engine() == "bp4")
      return; // ADIOS2 cannot drop a step: the series is finished
    if (comm.rank() == comm.size() - 1)
      data[first] -= 1;
    out.begin_step(3, 0.3);
    out.write("ux", data.data(), {points, block, memory}, Put::deferred);
    out.end_step();
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 2u);
  EXPECT_EQ(in.steps()[1].index, 3);
  expect<double>(in, 1, "ux", slab(points, comm.rank(), comm.size()), 1);
}

TEST_P(SeriesTest, WritesInTheBackground) {
  Options request = options();
  request.parameters["buffers"] = "2";
  {
    Series out(path(), Mode::write, comm, request);
    out.attribute("case", "tgv");
    for (int step = 1; step <= 6; ++step) {
      out.begin_step(10 * step, 0.5 * step);
      write<double>(out, "ux", points, 0.25 * step, 2);
      write<float>(out, "uy", points, step, 0);
      out.write_scalar("energy", 0.5 * step);
      if (step == 4)
        out.attribute("late", std::int64_t{4});
      out.end_step();
    }
    EXPECT_EQ(out.steps().size(), 6u);
    out.close();
    EXPECT_GT(out.trace().total(Phase::copy).bytes, 0);
    for (const auto &note : out.notes())
      EXPECT_EQ(note.find("calling thread"), std::string::npos) << note;
  }
  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 6u);
  for (std::size_t step = 0; step < 6; ++step) {
    const double number = static_cast<double>(step + 1);
    expect<double>(in, step, "ux", slab(points, comm.rank(), comm.size()), 0.25 * number);
    expect<float>(in, step, "uy", Box{{0, 0, 0}, points}, number);
    EXPECT_EQ(in.scalars(step).at("energy"), Scalar(0.5 * number));
    EXPECT_TRUE(in.verify(step).empty());
  }
  EXPECT_EQ(in.attributes().at("late"), Attribute(std::int64_t{4}));
}

TEST_P(SeriesTest, SaysWhereTheTimeWent) {
  Options request = options();
  request.parameters["trace"] = folder + "/trace.json";
  request.parameters["folded"] = folder + "/stacks.folded";
  {
    Series out(path(), Mode::write, comm, request);
    write_steps(out, 1, 2);
    out.close();
    const auto phases = summarise(out.trace(), comm);
    const auto writing =
        std::find_if(phases.begin(), phases.end(), [](const PhaseSummary &one) { return one.phase == Phase::write; });
    ASSERT_NE(writing, phases.end());
    EXPECT_EQ(writing->bytes, 2 * 8 * product(points));
    EXPECT_GT(writing->max_seconds, 0);
    EXPECT_LE(writing->min_seconds, writing->mean_seconds);
  }
  if (comm.rank() != 0)
    return;
  std::ifstream file(folder + "/trace.json");
  const auto document = nlohmann::json::parse(file);
  std::int64_t bytes = 0;
  std::set<int> ranks;
  for (const auto &event : document.at("traceEvents")) {
    ranks.insert(event.at("pid").get<int>());
    if (event.at("name") == "write")
      bytes += event.at("args").at("bytes").get<std::int64_t>();
  }
  EXPECT_EQ(bytes, 2 * 8 * product(points));
  EXPECT_EQ(static_cast<int>(ranks.size()), comm.size());
  std::ifstream folded(folder + "/stacks.folded");
  const std::string text((std::istreambuf_iterator<char>(folded)), {});
  EXPECT_NE(text.find("rank 0;write "), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Engines, SeriesTest,
                         testing::Values("raw", "raw_dist", "raw_node", "raw_collect", "raw_collect_xy", "raw_two",
                                         "raw_plane_files", "mpiio", "mpiio_collective", "mpiio_small", "hdf5",
                                         "adios_hdf5", "bp4", "bp5", "sion"),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
