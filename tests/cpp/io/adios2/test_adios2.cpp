// Tests of properties that only the ADIOS2 engines have: how the two BP versions are recognised, metadata that Tailrace
// checks before ADIOS2 reads them, files after a kill, operators, and the configuration files of ADIOS2.

#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

namespace fs = std::filesystem;
using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using test::error_of;
using test::has;

namespace {

class Adios2Test : public testing::Test {
protected:
  void SetUp() override {
#if !TAILRACE_HAVE_ADIOS2
    GTEST_SKIP() << "built without ADIOS2";
#endif
  }
  std::string path(const std::string &name) const { return folder + "/" + name; }
  Box slab() const {
    const std::int64_t begin = n[2] * comm.rank() / comm.size(), end = n[2] * (comm.rank() + 1) / comm.size();
    return {{0, 0, begin}, {n[0], n[1], end - begin}};
  }
  void write_step(Series &out, std::int64_t index) const {
    const Box block = slab();
    const std::vector<double> data(static_cast<std::size_t>(block.size()), 0.5 * static_cast<double>(index));
    out.begin_step(index, static_cast<double>(index));
    out.write("ux", data.data(), {n, block, block});
    out.write_scalar("energy", 2.0 * static_cast<double>(index));
    out.end_step();
  }
  void write(const std::string &place, int steps, const Options &options = {}) const {
    Series out(place, Mode::write, comm, options);
    out.set_attribute("case", "channel");
    for (int step = 1; step <= steps; ++step)
      write_step(out, step);
    out.close();
  }
  void expect(const std::string &place, const std::vector<std::int64_t> &indices) const {
    const Series in(place, Mode::read, comm);
    ASSERT_EQ(in.steps().size(), indices.size());
    std::vector<double> data(static_cast<std::size_t>(product(n)));
    for (std::size_t step = 0; step < indices.size(); ++step) {
      EXPECT_EQ(in.steps()[step].index, indices[step]);
      EXPECT_TRUE(in.verify(step).empty());
      in.read(step, "ux", Box{{0, 0, 0}, n}, data.data());
      EXPECT_EQ(data, std::vector<double>(data.size(), 0.5 * static_cast<double>(indices[step])));
    }
  }
  /// Runs `work` on rank 0 only, to change files.
  template <class Work> void alone(Work work) const {
    comm.barrier();
    if (comm.rank() == 0)
      work();
    comm.barrier();
  }
  Communicator comm{MPI_COMM_WORLD};
  Index3 n{9, 8, 12};
  test::SharedFolder made;
  const std::string &folder = made;
};

TEST_F(Adios2Test, TellsTheVersionsOfBpByTheIndex) {
  Options bp4;
  bp4.engine = "bp4";
  write(path("odd.bp"), 2, bp4); // .bp is also the suffix of bp5
  write(path("run.bp"), 1);
  EXPECT_EQ(bp::version(path("odd.bp")), 4);
  EXPECT_EQ(bp::version(path("run.bp")), 5);
  EXPECT_EQ(Series(path("odd.bp"), Mode::read, comm).engine(), "bp4");
  {
    Series out(path("odd.bp"), Mode::append, comm);
    EXPECT_EQ(out.engine(), "bp4");
    write_step(out, 3);
    out.close();
  }
  expect(path("odd.bp"), {1, 2, 3});
  Options bp5;
  bp5.engine = "bp5";
  for (const Mode mode : {Mode::read, Mode::append})
    EXPECT_TRUE(has(error_of<IoError>([&] { Series(path("odd.bp"), mode, comm, bp5); }), "name the engine bp4"));
  expect(path("odd.bp"), {1, 2, 3});
}

class BpTest : public Adios2Test, public testing::WithParamInterface<std::string> {
protected:
  std::string run() const { return path("run." + std::string(GetParam() == "bp4" ? "bp4" : "bp")); }
};

TEST_P(BpTest, FindsDamagedMetadataBeforeAdios2Does) {
  write(run(), 3);
  for (const std::string name : {"md.idx", "md.0", "mmd.0", "tailrace.json"}) {
    const fs::path file = fs::path(run()) / name;
    if (!fs::exists(file))
      continue;
    std::string text;
    {
      std::ifstream in(file, std::ios::binary);
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto put = [&](const std::string &what) { alone([&] { std::ofstream(file, std::ios::binary) << what; }); };
    const auto refused = [&](const std::string &what) {
      try {
        const Series in(run(), Mode::read, comm);
        return false;
      } catch (const IoError &error) {
        EXPECT_TRUE(has(error.what(), run())) << error.what();
        return true;
      }
      ADD_FAILURE() << what;
      return false;
    };
    for (std::size_t i = 0; i < 50; ++i) {
      const std::size_t place = i * text.size() / 50;
      if (name == "md.idx" && (place == 38 || place == 39))
        continue; // readers ignore the flag that a writer is active
      std::string flipped = text;
      flipped[place] = static_cast<char>(flipped[place] ^ (1 << (i % 8)));
      put(flipped);
      EXPECT_TRUE(refused("flip")) << name << " at " << place;
      put(text.substr(0, place));
      EXPECT_TRUE(refused("cut")) << name << " cut to " << place;
    }
    put(text);
  }
  expect(run(), {1, 2, 3});
}

TEST_P(BpTest, GoesOnAfterAKillInTheMiddleOfAStep) {
  write(run(), 3);
  alone([&] { // leave the files as an interrupted step does, with an index record that does not match them
    for (const std::string name : {"data.0", "md.0"})
      std::ofstream(fs::path(run()) / name, std::ios::binary | std::ios::app) << std::string(777, 'x');
    std::ofstream(fs::path(run()) / "md.idx", std::ios::binary | std::ios::app) << "s" << std::string(39, '\7');
  });
  expect(run(), {1, 2, 3});
  {
    Series out(run(), Mode::append, comm);
    write_step(out, 4);
    out.close();
  }
  expect(run(), {1, 2, 3, 4});
}

TEST_P(BpTest, RewindsAndGivesThePlaceBack) {
  write(run(), 6);
  const auto bytes = [&] {
    std::uintmax_t all = 0;
    for (const auto &entry : fs::directory_iterator(run()))
      if (entry.path().filename().string().rfind("data.", 0) == 0)
        all += entry.file_size();
    return all;
  };
  comm.barrier();
  const std::uintmax_t before = bytes();
  for (int round = 0; round < 3; ++round) {
    Options options;
    options.rewind_to = 3;
    Series out(run(), Mode::append, comm, options);
    for (const int step : {4, 5, 6})
      write_step(out, step);
    out.close();
  }
  expect(run(), {1, 2, 3, 4, 5, 6});
  EXPECT_LE(bytes(), before + before / 2);
  EXPECT_EQ(std::get<std::string>(Series(run(), Mode::read, comm).attributes().at("case")), "channel");
}

TEST_P(BpTest, OperatorsAreThoseOfTheBuild) {
  Options options;
  if (GetParam() == "bp5") {
    options.parameters = {{"operator", "null"}};
    write(run(), 2, options);
    expect(run(), {1, 2});
  }
  const auto refusal = [&](std::map<std::string, std::string> parameters) {
    options.parameters = std::move(parameters);
    return error_of<InputError>([&] { Series(path("other.bp"), Mode::write, comm, options); });
  };
  EXPECT_TRUE(has(refusal({{"operator", "zpf"}}), "with the operators"));
  EXPECT_TRUE(has(refusal({{"operator.accuracy", "1e-3"}}), "without operator"));
}

TEST_P(BpTest, ConfigurationFiles) {
  const std::string config = path("adios2.xml");
  const auto use = [&](const std::string &io, const std::string &engine, const std::string &aggregators,
                       std::map<std::string, std::string> parameters = {}) {
    alone([&] {
      std::ofstream(config) << "<?xml version=\"1.0\"?><adios-config><io name=\"" << io << "\"><engine type=\""
                            << engine << "\"><parameter key=\"numaggregators\" value=\"" << aggregators
                            << "\"/></engine></io></adios-config>";
      fs::remove_all(run());
    });
    parameters["config"] = config;
    Options options;
    options.parameters = parameters;
    write(run(), 2, options);
    expect(run(), {1, 2});
    return fs::exists(fs::path(run()) / "data.1");
  };
  const std::string engine = GetParam() == "bp4" ? "BP4" : "BP5", other = GetParam() == "bp4" ? "BP5" : "BP4";
  if (comm.size() > 1) {
    EXPECT_FALSE(use("run", engine, "1"));
    EXPECT_FALSE(use("tailrace", engine, "1"));
    EXPECT_TRUE(use("somebody-else", engine, "1"));
    EXPECT_TRUE(use("run", engine, "1", {{"NumAggregators", "2"}})); // the argument has priority
  }
  const auto refusal = [&](const std::string &file) {
    Options options;
    options.parameters = {{"config", file}};
    return error_of<InputError>([&] { Series(run(), Mode::write, comm, options); });
  };
  EXPECT_TRUE(has(error_of<InputError>([&] { use("run", other, "1"); }), "engine"));
  EXPECT_TRUE(has(refusal(path("nowhere.xml")), "no such file"));
  EXPECT_TRUE(has(refusal(path("adios2.txt")), ".xml"));
  alone([&] { std::ofstream(config) << "<adios-config><io name="; });
  EXPECT_TRUE(has(refusal(config), config));
}

INSTANTIATE_TEST_SUITE_P(Versions, BpTest, testing::Values("bp4", "bp5"),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
