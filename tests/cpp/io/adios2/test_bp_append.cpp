// Appending to bp4 and bp5 where ADIOS2 itself does it wrongly: without a step, on other ranks, with other data files.

#include "io/shared_folder.hpp"
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#if TAILRACE_HAVE_ADIOS2
#include <adios2.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

namespace fs = std::filesystem;
using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;

namespace {

using Texts = std::map<std::string, std::string>;

class BpAppendTest : public testing::TestWithParam<std::string> {
protected:
  std::string run() const { return folder + "/run." + GetParam(); }
  Options options(const Texts &parameters = {}) const {
    Options result;
    result.engine = GetParam();
    result.parameters = parameters;
    return result;
  }
  /// Runs `work` on the first `ranks` ranks.
  template <class Work> void on(int ranks, Work work) const {
    const Communicator part = world.split(world.rank() < ranks ? 0 : 1, world.rank());
    try {
      if (world.rank() < ranks)
        work(part);
    } catch (const std::exception &error) {
      ADD_FAILURE() << ranks << " ranks: " << error.what();
    }
    world.barrier();
  }
  static std::vector<double> values(const Box &box, std::int64_t index) {
    std::vector<double> data(static_cast<std::size_t>(box.size()));
    for (std::size_t at = 0; at < data.size(); ++at)
      data[at] = static_cast<double>(index * product(n) + box.start[2] * n[0] * n[1]) + static_cast<double>(at);
    return data;
  }
  /// Steps `first` to `last`; with `uneven` the last rank has most of each.
  static void write_steps(Series &out, std::int64_t first, std::int64_t last, bool uneven = false) {
    const Communicator &comm = out.communicator();
    const auto begin = [&](std::int64_t rank) {
      return uneven && rank < comm.size() ? rank : n[2] * rank / comm.size();
    };
    const Box block{{0, 0, begin(comm.rank())}, {n[0], n[1], begin(comm.rank() + 1) - begin(comm.rank())}};
    for (std::int64_t index = first; index <= last; ++index) {
      out.begin_step(index, 0.5 * static_cast<double>(index));
      out.write("ux", values(block, index).data(), {n, block, block});
      out.end_step();
    }
  }
  void write(int ranks, std::int64_t last, const Texts &parameters = {}, bool uneven = false) const {
    on(ranks, [&](const Communicator &comm) {
      Series out(run(), Mode::write, comm, options(parameters));
      write_steps(out, 1, last, uneven);
      out.close();
    });
  }
  void append(int ranks, std::int64_t first, std::int64_t last, const Texts &parameters = {},
              std::optional<std::int64_t> rewind_to = {}) const {
    on(ranks, [&](const Communicator &comm) {
      Options how = options(parameters);
      how.rewind_to = rewind_to;
      Series out(run(), Mode::append, comm, how);
      write_steps(out, first, last);
      out.close();
    });
  }
  /// Opens to append by ADIOS2, as Tailrace did, and closes; with an index, writes this step in between.
  void append_by_adios2(std::optional<std::int64_t> index = {}) const {
    on(2, [&](const Communicator &comm) {
      adios2::ADIOS adios(comm.get());
      adios2::IO io = adios.DeclareIO("run");
      io.SetEngine(GetParam() == "bp4" ? "BP4" : "BP5");
      adios2::Engine engine = io.Open(run(), adios2::Mode::Append);
      if (index) {
        engine.BeginStep();
        const auto step = io.DefineVariable<std::int64_t>("step");
        const auto time = io.DefineVariable<double>("time");
        const adios2::Dims shape{n[2], n[1], n[0]}, all = comm.rank() == 0 ? shape : adios2::Dims(3, 0);
        const auto ux = io.DefineVariable<double>("ux", shape, adios2::Dims(3, 0), all);
        const auto data = values({{0, 0, 0}, n}, *index);
        if (comm.rank() == 0) {
          engine.Put(step, *index, adios2::Mode::Sync);
          engine.Put(time, 0.5 * static_cast<double>(*index), adios2::Mode::Sync);
          engine.Put(ux, data.data(), adios2::Mode::Sync);
        }
        engine.EndStep();
      }
      engine.Close();
    });
  }
  /// Compares every value, every checksum, and the size of every data file.
  void expect(const std::vector<std::int64_t> &indices, const std::string &what = "") const {
    on(1, [&](const Communicator &comm) {
      const Series in(run(), Mode::read, comm);
      std::vector<std::int64_t> found;
      std::vector<double> data(static_cast<std::size_t>(product(n)));
      for (std::size_t step = 0; step < in.steps().size(); ++step) {
        found.push_back(in.steps()[step].index);
        EXPECT_EQ(in.verify(step), std::vector<std::string>{}) << what;
        in.read(step, "ux", Box{{0, 0, 0}, n}, data.data());
        EXPECT_EQ(data, values({{0, 0, 0}, n}, found.back())) << what << ", step " << found.back();
      }
      EXPECT_EQ(found, indices) << what;
      for (const auto &entry : fs::directory_iterator(run()))
        EXPECT_LT(entry.file_size(), 1u << 20) << what << ": " << entry.path();
    });
  }
  static constexpr Index3 n{9, 8, 24};
  Communicator world{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
};

// ---- without a step ----

TEST_P(BpAppendTest, ClosingWithoutAStepAddsNone) {
  std::vector<Texts> ways{{}, {{"buffers", "2"}}, {{"NumAggregators", "1"}}};
  if (GetParam() == "bp5")
    ways.push_back({{"AsyncWrite", "true"}});
  for (const Texts &parameters : ways) {
    const std::string what = parameters.empty() ? "plain" : parameters.begin()->first;
    write(3, 3, parameters);
    const std::uintmax_t index = fs::file_size(run() + "/md.idx");
    for (const int ranks : {3, 2})
      on(ranks, [&](const Communicator &comm) {
        Series out(run(), Mode::append, comm, options(parameters));
        out.set_attribute("closed_by", std::int64_t{ranks});
        out.close();
      });
    EXPECT_EQ(fs::file_size(run() + "/md.idx"), index) << what;
    expect({1, 2, 3}, what);
    on(1, [&](const Communicator &comm) {
      EXPECT_EQ(std::get<std::int64_t>(Series(run(), Mode::read, comm).attributes().at("closed_by")), 2);
    });
    append(3, 4, 5, parameters);
    expect({1, 2, 3, 4, 5}, what);
    append(2, 1, 0, parameters, 2); // no step, only a rewind
    expect({1, 2}, what);
    append(2, 3, 4, parameters);
    expect({1, 2, 3, 4}, what);
  }
}

TEST_P(BpAppendTest, ReadsAroundAnEmptyStep) {
  if (GetParam() != "bp4")
    GTEST_SKIP() << "ADIOS2 writes an empty step in BP4 only";
  for (const Texts &parameters : {Texts{}, Texts{{"buffers", "2"}}}) {
    write(2, 3, parameters);
    append_by_adios2();
    expect({1, 2, 3}, "at the end");
    append(3, 4, 4, parameters);
    expect({1, 2, 3, 4}, "appended");
    append_by_adios2();
    append_by_adios2();
    append_by_adios2(5);
    append_by_adios2();
    expect({1, 2, 3, 4, 5}, "in the middle");
    append(2, 6, 7, parameters);
    expect({1, 2, 3, 4, 5, 6, 7}, "in the middle, appended");
    append(2, 6, 6, parameters, 5);
    expect({1, 2, 3, 4, 5, 6}, "rewound behind it");
    append(3, 3, 4, parameters, 2);
    expect({1, 2, 3, 4}, "rewound before it");
  }
}

TEST_P(BpAppendTest, AnEmptyStepAloneIsNoStep) {
  on(2, [&](const Communicator &comm) { Series(run(), Mode::write, comm, options()).close(); });
  expect({});
  append_by_adios2();
  expect({});
  append(3, 1, 2);
  expect({1, 2});
}

// ---- on other ranks ----

TEST_P(BpAppendTest, OnMoreAndFewerRanks) {
  for (const int ranks : {4, 6, 8}) {
    write(2, 3);
    append(ranks, 4, 6);
    expect({1, 2, 3, 4, 5, 6}, std::to_string(ranks));
    append(ranks, 3, 4, {}, 2);
    expect({1, 2, 3, 4}, std::to_string(ranks) + " rewound");
  }
  write(6, 2);
  append(2, 3, 4);
  append(6, 5, 6);
  expect({1, 2, 3, 4, 5, 6}, "6, 2, 6");
  append(8, 2, 3, {}, 1);
  expect({1, 2, 3}, "6, 2, 6, 8");
}

TEST_P(BpAppendTest, OnMoreRanksWithChosenFiles) {
  std::vector<Texts> ways{{{"NumAggregators", "8"}}, {{"NumAggregators", "3"}}, {{"AggregatorRatio", "2"}}};
  if (GetParam() == "bp5")
    for (const std::string type : {"EveryoneWrites", "EveryoneWritesSerial", "TwoLevelShm", "DataSizeBased", "auto"})
      for (const Texts &more :
           {Texts{}, Texts{{"NumAggregators", "6"}}, Texts{{"NumSubFiles", "5"}},
            Texts{{"NumAggregators", "6"}, {"NumSubFiles", "4"}}, Texts{{"AggregatorRatio", "1"}}}) {
        ways.push_back(more);
        ways.back()["AggregationType"] = type;
      }
  for (const Texts &parameters : ways) {
    std::string what;
    for (const auto &[name, value] : parameters)
      what += name + "=" + value + " ";
    write(2, 2);
    append(8, 3, 4, parameters);
    expect({1, 2, 3, 4}, what);
    append(6, 2, 3, parameters, 1);
    expect({1, 2, 3}, what + "rewound");
  }
}

TEST_P(BpAppendTest, IsLimitedToTheFilesOfTheWholeSeriesOnly) {
  if (GetParam() != "bp5")
    GTEST_SKIP() << "BP5 cannot append to more data files than there are";
  const auto limited = [&](int ranks, std::int64_t index, const Texts &parameters) {
    bool said = false;
    on(ranks, [&](const Communicator &comm) {
      Series out(run(), Mode::append, comm, options(parameters));
      for (const auto &note : out.notes())
        said = said || note.find("data files, not") != std::string::npos;
      write_steps(out, index, index);
      out.close();
    });
    return world.max(std::int64_t{said}) > 0;
  };
  write(6, 2);
  append(2, 3, 4);
  EXPECT_FALSE(limited(6, 5, {})) << "the last writers wrote into 2 of 6";
  EXPECT_FALSE(limited(8, 6, {{"AggregationType", "TwoLevelShm"}, {"NumAggregators", "8"}, {"NumSubFiles", "2"}}));
  EXPECT_TRUE(limited(8, 7, {}));
  expect({1, 2, 3, 4, 5, 6, 7});
}

TEST_P(BpAppendTest, WithAnotherDistributionToAsManyFiles) {
  if (GetParam() != "bp5")
    GTEST_SKIP() << "BP5 records which rank writes into which file, BP4 does so for every block";
  const Texts by_size{{"AggregationType", "DataSizeBased"}, {"NumSubFiles", "2"}};
  const Texts by_rank{{"AggregationType", "EveryoneWrites"}, {"NumAggregators", "2"}};
  write(4, 3, by_size, true);
  append(4, 4, 6, by_rank);
  expect({1, 2, 3, 4, 5, 6});
  append(4, 6, 8, by_size, 5);
  expect({1, 2, 3, 4, 5, 6, 7, 8});
}

// ---- pieces ----

TEST_P(BpAppendTest, ChecksumsCoverLargeBlocksWithGhosts) {
  const Index3 whole{67, 61, 3 * 131}; // more than 4 MiB a rank, in pieces of which the last is smaller
  on(3, [&](const Communicator &comm) {
    const Box block{{0, 0, 131 * comm.rank()}, {67, 61, 131}};
    const Box memory{{-1, -1, block.start[2] - 1}, {69, 63, 133}};
    std::vector<double> data(static_cast<std::size_t>(memory.size()));
    for (std::size_t at = 0; at < data.size(); ++at)
      data[at] = static_cast<double>(at % 1009);
    Series out(run(), Mode::write, comm, options());
    out.begin_step(1, 0.5);
    out.write("ux", data.data(), {whole, block, memory});
    out.end_step();
    out.close();
    const Series in(run(), Mode::read, comm);
    EXPECT_EQ(in.verify(0), std::vector<std::string>{});
  });
}

INSTANTIATE_TEST_SUITE_P(Versions, BpAppendTest, testing::Values("bp4", "bp5"),
                         [](const auto &parameter) { return parameter.param; });

} // namespace

#endif
