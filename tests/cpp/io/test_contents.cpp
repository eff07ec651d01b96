// Tests of what a series can contain other than whole arrays, and of the ways to write a series.
#include "io/series_test.hpp"
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/trace_report.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;

namespace {

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
  // Rank r has r rows in the first step and none in the second. In the third step, only the last rank has rows.
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
    for (const auto &[name, region] : regions) { // what is packed must live until end_step, or be stored at once
      out.write([&, &name = name, &region = region] {
        return WriteRequest{name + "_deferred", Type::float64, data.data(), {points, block, memory}, {}, region,
                            Put::deferred};
      });
      const std::vector<double> other(static_cast<std::size_t>(product(region.count)), -1.0);
    }
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
    for (const std::string &stored : {name, name + "_deferred"}) {
      in.read(0, stored, Box{{0, 0, 0}, region.count}, found.data());
      EXPECT_EQ(found, expected) << stored;
    }
  }
}

TEST_P(SeriesTest, DefersWritesAndCatchesChangedArrays) {
  const Box block = pencil(points, comm.rank(), comm.size()), memory = with_ghosts(block, 1);
  {
    Series out(path(), Mode::write, comm, options());
    auto data = filled<double>(memory, block, 1);
    out.begin_step(1, 0.1);
    out.write("ux", data.data(), {points, block, memory}, Put::deferred);
    std::fill(data.begin(), data.begin() + 1, 5.0); // changes a ghost point, which is allowed
    out.end_step();
    out.begin_step(2, 0.2);
    out.write("ux", data.data(), {points, block, memory}, Put::deferred);
    const std::size_t first = static_cast<std::size_t>((memory.count[1] + 1) * memory.count[0] + 1);
    if (comm.rank() == comm.size() - 1)
      data[first] += 1;
    try {
      out.end_step();
      out.flush(); // with buffers, the change is detected in the background
      FAIL() << "the change was not found";
    } catch (const InputError &error) {
      EXPECT_NE(std::string(error.what()).find("'ux' was changed"), std::string::npos) << error.what();
    }
    if (engine_traits(engine()).owns_directory)
      return; // ADIOS2 cannot drop a step, so nothing more can be written
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
    out.set_attribute("case", "tgv");
    for (int step = 1; step <= 6; ++step) {
      out.begin_step(10 * step, 0.5 * step);
      write<double>(out, "ux", points, 0.25 * step, 2);
      write<float>(out, "uy", points, step, 0);
      out.write_scalar("energy", 0.5 * step);
      if (step == 4)
        out.set_attribute("late", std::int64_t{4});
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

INSTANTIATE_TEST_SUITE_P(Engines, SeriesTest, lasting_engines, engine_name);

} // namespace
