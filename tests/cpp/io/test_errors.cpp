#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using test::error_of;
using test::has;
namespace fs = std::filesystem;

namespace {

const Index3 points{17, 12, 9};

class SeriesErrors : public testing::TestWithParam<std::string> {
protected:
  std::string path(const std::string &name = "run") const { return folder + "/" + name + io_suffix(engine()); }
  static std::string engine() { return io_configuration(GetParam()).engine; }
  static Options options() { return {engine(), io_configuration(GetParam()).parameters, {}, {}, {}}; }
  static Box slab(const Index3 &n, const Communicator &who) {
    const std::int64_t begin = n[2] * who.rank() / who.size(), end = n[2] * (who.rank() + 1) / who.size();
    return {{0, 0, begin}, {n[0], n[1], end - begin}};
  }
  void write(Series &series, const std::string &name, const Index3 &n, double value) const {
    const Box block = slab(n, comm);
    const std::vector<double> data(static_cast<std::size_t>(block.size()), value);
    series.write(name, data.data(), {n, block, block});
  }
  void write_step(Series &series, std::int64_t index, const Index3 &n = points) const {
    series.begin_step(index, 0.5 * static_cast<double>(index));
    write(series, "ux", n, static_cast<double>(index));
    series.end_step();
  }
  void expect_step(const Series &series, std::size_t step, double value, const Index3 &n = points) const {
    const Box block = slab(n, series.communicator());
    std::vector<double> data(static_cast<std::size_t>(block.size()));
    series.read(step, "ux", block, data.data());
    EXPECT_EQ(data, std::vector<double>(data.size(), value));
  }
  Communicator comm{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
};

TEST_P(SeriesErrors, TargetsThatCannotBe) {
  const Options request = options();
  EXPECT_TRUE(has(error_of<IoError>([&] { Series(path(), Mode::read, comm, request); }), "does not exist"));
  EXPECT_TRUE(
      has(error_of<IoError>([&] { Series(folder + "/no/run", Mode::write, comm, request); }), "/no does not exist"));
  if (comm.rank() == 0) { // create a directory instead of a file, or a file instead of a directory
    if (engine_traits(engine()).one_file)
      fs::create_directory(path());
    else
      std::ofstream(path()) << "something else";
  }
  comm.barrier();
  for (const Mode mode : {Mode::write, Mode::append, Mode::read})
    EXPECT_TRUE(has(error_of<IoError>([&] { Series(path(), mode, comm, request); }), "keeps a series in a"));
}

TEST_P(SeriesErrors, ExclusiveReplacesNothing) {
  const auto open = [&](Mode mode) { return Series(path(), mode, comm, options()); };
  {
    Series out = open(Mode::exclusive); // nothing is there
    write_step(out, 3);
    out.close();
  }
  EXPECT_TRUE(has(error_of<IoError>([&] { open(Mode::exclusive); }), "is there already"));
  const Series stored = open(Mode::read);
  ASSERT_EQ(stored.steps().size(), 1U);
  expect_step(stored, 0, 3);
  // All that the series consists of is there, and without it nothing is left but empty directories.
  const std::vector<std::string> files = stored.files();
  comm.barrier();
  if (comm.rank() == 0) {
    for (const auto &file : files)
      EXPECT_GT(fs::remove_all(file), 0U) << file;
  }
  comm.barrier();
  EXPECT_TRUE(!fs::exists(path()) || fs::is_empty(path()));
  Series out = open(Mode::exclusive);
  write_step(out, 4);
  out.close();
}

TEST_P(SeriesErrors, ForeignContents) {
  if (comm.rank() == 0) {
    if (engine_traits(engine()).one_file)
      std::ofstream(path()) << "this is no HDF5 file";
    else
      fs::create_directory(path());
  }
  comm.barrier();
  EXPECT_TRUE(has(error_of<IoError>([&] { Series(path(), Mode::read, comm, options()); }), path()));
}

TEST_P(SeriesErrors, NoPermission) {
  if (comm.rank() == 0)
    ::chmod(folder.c_str(), 0555);
  comm.barrier();
  const uid_t me = geteuid();
  if (me == 0) {
    ASSERT_EQ(::seteuid(65534), 0); // root can write everywhere, so use the account "nobody"
  }
  const std::string text = error_of<IoError>([&] { Series(path(), Mode::write, comm, options()); });
  EXPECT_TRUE(has(text, "Permission denied") && has(text, folder)) << text;
  ASSERT_EQ(::seteuid(me), 0);
  comm.barrier();
  if (comm.rank() == 0)
    ::chmod(folder.c_str(), 0700);
}

TEST_P(SeriesErrors, UnknownParametersAndEngines) {
  const auto open = [&](Options options) {
    return error_of<InputError>([&] { Series(path(), Mode::write, comm, options); });
  };
  EXPECT_TRUE(has(open({engine(), {{"cheksums", "on"}}, {}, {}, {}}), "checksums"));
  EXPECT_TRUE(has(open({engine(), {{"checksums", "perhaps"}}, {}, {}, {}}), "true or false"));
  EXPECT_TRUE(has(open({engine(), {{"zzzzzzzzzzz", "1"}}, {}, {}, {}}), "has no parameter"));
  EXPECT_TRUE(has(open({engine() + "x", {}, {}, {}, {}}), engine() + "?"));
  EXPECT_TRUE(has(open({engine(), {}, {}, {}, 5}), "rewound"));
  EXPECT_TRUE(has(error_of<InputError>([&] { Series(folder + "/run.xyz", Mode::write, comm); }), ".xyz"));
}

TEST_P(SeriesErrors, WrongCallsLeaveTheSeriesUsable) {
  Series out(path(), Mode::write, comm, options());
  const Box block = slab(points, comm);
  const std::vector<double> data(static_cast<std::size_t>(block.size()), 1.0);
  EXPECT_THROW(write(out, "ux", points, 0), InputError); // no step is open
  EXPECT_THROW(out.end_step(), InputError);
  EXPECT_THROW(out.begin_step(1, std::numeric_limits<double>::quiet_NaN()), InputError);
  out.begin_step(1, 0.5);
  EXPECT_THROW(out.begin_step(2, 1), InputError);
  write(out, "ux", points, 1);
  EXPECT_THROW(write(out, "ux", points, 1), InputError);                    // written a second time
  EXPECT_THROW(out.write("uy", data.data(), {points, {}, {}}), InputError); // the blocks do not cover the shape
  EXPECT_THROW(out.write("uy", data.data(), {{17, 12, 7}, block, block}), InputError);
  EXPECT_THROW(out.write("../uy", data.data(), {points, block, block}), InputError);
  EXPECT_THROW(out.write_scalar("time", 1), InputError);
  EXPECT_THROW(out.steps().empty() ? out.read(0, "ux", block, const_cast<double *>(data.data())) : void(), InputError);
  if (comm.size() > 1) { // the call is wrong on one rank only, and all ranks get the error
    const bool wrong = comm.rank() == comm.size() - 1;
    EXPECT_THROW(out.write(wrong ? "uz" : "uy", data.data(), {points, block, block}), InputError);
    Box memory = block;
    memory.count[0] -= wrong;
    EXPECT_TRUE(
        has(error_of<InputError>([&] { out.write("uy", data.data(), {points, block, memory}); }), "does not cover"));
  }
  out.end_step();
  EXPECT_THROW(out.begin_step(1, 0.5), InputError);
  out.begin_step(2, 1);
  EXPECT_THROW(write(out, "ux", {17, 12, 8}, 2), InputError); // different shape
  write(out, "ux", points, 2);
  out.end_step();
  out.close();
  EXPECT_THROW(out.begin_step(3, 1), InputError);

  const Series in(path(), Mode::read, comm);
  ASSERT_EQ(in.steps().size(), 2u);
  expect_step(in, 1, 2);
  std::vector<double> target(static_cast<std::size_t>(product(points)));
  EXPECT_TRUE(has(error_of<InputError>([&] { in.read(0, "uxx", block, target.data()); }), "did you mean 'ux'"));
  EXPECT_THROW(in.read(0, "ux", Box{{10, 0, 0}, {8, 1, 1}}, target.data()), InputError);
  EXPECT_THROW(in.read(2, "ux", block, target.data()), InputError);
}

TEST_P(SeriesErrors, TruncatedFiles) {
  {
    Series out(path(), Mode::write, comm, options());
    write_step(out, 1), write_step(out, 2);
    out.close();
  }
  comm.barrier();
  if (comm.rank() == 0) // cut off the ends of the data files
    for (const auto &entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.file_size() > 1000 &&
          entry.path().extension().string().rfind(".json", 0) != 0)
        fs::resize_file(entry.path(), entry.file_size() - std::min<std::uintmax_t>(3000, entry.file_size() / 2));
  comm.barrier();
  const auto use = [&] {
    const Series in(path(), Mode::read, comm);
    std::vector<double> data(static_cast<std::size_t>(product(points)));
    in.read(1, "ux", Box{{0, 0, 0}, points}, data.data());
    if (!in.verify(1).empty())
      throw IoError("damaged");
  };
  EXPECT_THROW(use(), IoError);
}

/// Limits the bytes that one rank can write to a file. This has the same effect as a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_P(SeriesErrors, OneRankThatCannotWriteStopsAll) {
  // If rank 0 writes for other ranks, rank 0 fails while the others still have more than one message to send.
  const bool collects = GetParam() == "mpiio_small" ||
                        (engine() == "raw" && GetParam() != "raw" && GetParam() != "raw_dist"); // engine: its knobs
  const Index3 large{256, 128, 96};
  for (const auto &[n, bytes] : {std::pair{points, rlim_t{1000}}, std::pair{large, rlim_t{1500000}}}) {
    const std::string place = path(n == points ? "small" : "large");
    Series out(place, Mode::write, comm, options());
    write_step(out, 1, n);
    const auto write_limited = [&] {
      const bool limited = comm.rank() == (collects ? 0 : comm.size() - 1);
      const FileSizeLimit limit(limited ? bytes : RLIM_INFINITY);
      write_step(out, 2, n);
    };
    EXPECT_TRUE(has(error_of<IoError>(write_limited), "File too large"));
    if (engine_traits(engine()).owns_directory) { // ADIOS2 cannot drop the step
      out.close();
      out = Series(place, Mode::append, comm, options());
    }
    write_step(out, 3, n); // without the limit, the series accepts steps again
    out.close();
    const Series in(place, Mode::read, comm);
    ASSERT_EQ(in.steps().size(), 2u);
    expect_step(in, 0, 1, n);
    expect_step(in, 1, 3, n);
  }
}

TEST_P(SeriesErrors, FullDisk) {
  const std::string disk = folder + "/disk";
  bool mounted = false;
  if (comm.rank() == 0) {
    fs::create_directory(disk);
    mounted = ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=6m") == 0;
  }
  if (comm.max(std::int64_t{mounted}) == 0)
    GTEST_SKIP() << "may not mount a small disk here";
  const Index3 n{64, 32, 32}; // half a MiB per step
  const std::string target = disk + "/run" + io_suffix(engine());
  int complete = 0;
  {
    Series out(target, Mode::write, comm, options());
    try {
      for (; complete < 20; ++complete)
        write_step(out, complete + 1, n);
      ADD_FAILURE() << "20 steps went on the small disk";
    } catch (const IoError &error) {
      EXPECT_TRUE(has(error.what(), "No space left") && has(error.what(), disk)) << error.what();
    }
    EXPECT_GE(complete, 5);
  }
  comm.barrier();
  {
    const Series in(target, Mode::read, comm);
    EXPECT_EQ(static_cast<int>(in.steps().size()), complete);
    for (std::size_t step = 0; step < in.steps().size(); ++step) {
      EXPECT_TRUE(in.verify(step).empty());
      expect_step(in, step, static_cast<double>(step) + 1, n);
    }
  }
  comm.barrier();
  if (mounted)
    ::umount2(disk.c_str(), MNT_DETACH);
}

INSTANTIATE_TEST_SUITE_P(Engines, SeriesErrors,
                         testing::ValuesIn(io_built({"raw", "raw_dist", "raw_node", "raw_collect", "raw_collect_xy",
                                                     "raw_two", "mpiio", "mpiio_collective", "mpiio_small", "hdf5",
                                                     "adios_hdf5", "bp4", "bp5", "sion"})),
                         [](const auto &parameter) { return parameter.param; });

TEST(NullEngine, CountsAndChecksAndWritesNothing) {
  const Communicator comm(MPI_COMM_WORLD);
  const std::string path = "/nowhere/at/all";
  Options options;
  options.engine = "null";
  Series out(path, Mode::write, comm, options);
  EXPECT_EQ(out.engine(), "null");
  const std::int64_t begin = points[2] * comm.rank() / comm.size(), end = points[2] * (comm.rank() + 1) / comm.size();
  const Box block{{0, 0, begin}, {points[0], points[1], end - begin}};
  const std::vector<double> data(static_cast<std::size_t>(block.size()), 1.0);
  out.set_attribute("case", "none");
  for (int step = 0; step < 3; ++step) {
    out.begin_step(step, 0.5 * step);
    out.write("ux", data.data(), {points, block, block});
    EXPECT_THROW(out.write("ux", data.data(), {points, block, block}), InputError);
    EXPECT_THROW(out.write("uy", data.data(), {points, {}, {}}), InputError);
    out.write_scalar("energy", 1);
    out.end_step();
    EXPECT_THROW(out.begin_step(step, 1), InputError);
  }
  out.close();
  EXPECT_EQ(out.steps().size(), 3u);
  EXPECT_EQ(out.counters().steps, 3);
  EXPECT_EQ(out.counters().bytes_written, 3 * 8 * block.size());
  EXPECT_FALSE(fs::exists("/nowhere"));
  for (const Mode mode : {Mode::read, Mode::append})
    EXPECT_THROW(Series(path, mode, comm, options), InputError);
  options.parameters["StatsLevel"] = "0";
  EXPECT_THROW(Series(path, Mode::write, comm, options), InputError);
}

TEST(Parameters, NamesTheNearest) {
  EXPECT_EQ(nearest("hdf", {"bp5", "hdf5", "raw"}), "hdf5");
  EXPECT_EQ(nearest("numaggregators", {"NumAggregators", "NumSubFiles"}), "NumAggregators");
  EXPECT_EQ(nearest("something", {"bp5", "hdf5", "raw"}), "");
  Parameters parameters({{"statslevel", "0"}, {"n", "12x"}});
  EXPECT_EQ(parameters.pass_through({"StatsLevel"}).at("StatsLevel"), "0");
  EXPECT_THROW(parameters.number("n", 1, 0), InputError);
  EXPECT_EQ(parameters.number("m", 7, 0), 7);
}

} // namespace
