// Tests of a series of arrays: write, read, append, rewind, replace, and damaged files.
#include "io/series_test.hpp"
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

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
    expect<float>(in, step, "ux", Box{{1, 2, 3}, {4, 5, 6}}, salt); // with conversion to single precision
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
  if (engine() == "bp5") // engine: how it lays out its files
    request.parameters = {{"aggregationtype", "TwoLevelShm"}, {"NumAggregators", "1"}, {"StatsLevel", "1"}};
  if (engine() == "bp4") // engine: how it lays out its files
    request.parameters = {{"substreams", "1"}};
  if (engine() == "adios_hdf5") // engine: how it lays out its files
    request.parameters = {{"h5collectivempio", "yes"}, {"H5ChunkDim", "4 4 4"}};
  if (engine() == "sion") // engine: how it lays out its files
    request.parameters = {{"chunk_bytes", "5000"}, {"block_bytes", "512"}, {"files", "2"}};
  if (engine() == "hdf5") // engine: a chunk has three planes of ux, and the last chunk is not full
    request.parameters = {{"transfer", "collective"}, {"chunk_bytes", "5000"}};
  request.parameters["sync"] = "on";
  {
    Series out(path(), Mode::write, comm, request);
    write_steps(out, 1, 2);
    out.begin_step(30, 1.5);
    const std::int64_t whole = comm.rank() == comm.size() - 1; // one rank has all points, the others have none
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
    out.set_attribute("case", "tgv");
    write_steps(out, 1, 4);
    out.close();
  }
  Options rewound = options();
  rewound.rewind_to = 25; // keeps the steps 10 and 20
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
  for (const bool closed : {true, false}) { // without close, the files are as after a kill before the first step
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
    out.set_attribute("text", "before");
    out.set_attribute("lines", "Re = 1600\nsecond line");
    out.set_attribute("whole", std::int64_t{-3});
    out.set_attribute("real", 0.1);
    out.set_attribute("wholes", std::vector<std::int64_t>{1, 2, 3});
    out.set_attribute("reals", std::vector<double>{0.5, 0.25});
    const std::vector<std::string> texts{"ux", "", "two\nlines"};
    if (engine_traits(out.engine()).text_lists)
      out.set_attribute("texts", texts);
    else
      EXPECT_THROW(out.set_attribute("texts", texts), InputError);
    write_steps(out, 1, 1);
    out.set_attribute("text", "changed between steps");
    out.set_attribute("between", 7.5);
    write_steps(out, 2, 2);
    out.set_attribute("late", "after the last step");
    out.close();
  }
  {
    Series out(path(), Mode::append, comm, options()); // this open must keep all attributes
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
  if (found.contains("texts")) {
    EXPECT_EQ(found.at("texts"), Attribute(std::vector<std::string>{"ux", "", "two\nlines"}));
  }
}

TEST_P(SeriesTest, HasTheAttributesOfRankZero) {
  {
    Series out(path(), Mode::write, comm, options());
    out.set_attribute("run", std::string(static_cast<std::size_t>(1 + 20 * comm.rank()), 'a'));
    write_steps(out, 1, 1);
    out.close();
  }
  EXPECT_EQ(Series(path(), Mode::read, comm).attributes().at("run"), Attribute("a"));
  comm.barrier();
  std::error_code none; // other series have no such file
  if (comm.rank() == 0) // as a program leaves it that is killed while it opens a series of ADIOS2 to append
    std::filesystem::remove(std::filesystem::path(path()) / "tailrace.json", none);
  comm.barrier();
  EXPECT_EQ(Series(path(), Mode::read, comm).attributes().at("run"), Attribute("a"));
}

TEST_P(SeriesTest, KeepsValuesOfEveryCppType) {
  const Box mine = pencil(points, comm.rank(), comm.size());
  const auto values = [&]<class T>(T, const Box &box) {
    std::vector<T> numbers;
    for (std::int64_t i = 0; i < box.size(); ++i)
      numbers.push_back(static_cast<T>((box.start[2] + i) % 2));
    return numbers;
  };
  const auto each = [](auto work) {
    [&]<class... T>(T... zeros) {
      int number = 0;
      (work(zeros, "v" + std::to_string(number++)), ...);
    }(float{}, double{}, std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{}, std::uint8_t{}, std::uint16_t{},
      std::uint32_t{}, std::uint64_t{}, std::complex<float>{}, std::complex<double>{});
  };
  {
    Series out(path(), Mode::write, comm, options());
    out.begin_step(1, 0.5);
    each([&](auto zero, const std::string &name) {
      out.write(name, values(zero, mine).data(), Placement{points, mine, mine});
    });
    out.end_step();
    out.close();
  }
  const Series in(path(), Mode::read, comm);
  each([&](auto zero, const std::string &name) {
    using T = decltype(zero);
    EXPECT_EQ(in.variable(0, name).type, type_of<T>());
    std::vector<T> found(static_cast<std::size_t>(mine.size()));
    in.read(0, name, mine, found.data());
    EXPECT_EQ(found, values(zero, mine)) << name;
  });
}

TEST_P(SeriesTest, DropsAStepThatWasNotEnded) {
  {
    Series out(path(), Mode::write, comm, options());
    write_steps(out, 1, 2);
    out.begin_step(30, 1.5);
    write<double>(out, "ux", points, 99);
    // The series is destroyed here without close(), as it is when an exception is thrown.
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
  if (comm.rank() == 0) { // change one number in the data of the second step
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

INSTANTIATE_TEST_SUITE_P(Engines, SeriesTest, lasting_engines, engine_name);

} // namespace
