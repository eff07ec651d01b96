#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include "support.hpp"
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using namespace tailrace::test;
namespace fs = std::filesystem;

namespace {

const Options in_background{"raw", {{"buffers", "2"}}, {}, {}, {}};

Box slab(const Index3 &n) {
  const std::int64_t rank = world().rank(), size = world().size();
  const std::int64_t begin = n[2] * rank / size, end = n[2] * (rank + 1) / size;
  return {{0, 0, begin}, {n[0], n[1], end - begin}};
}

/// The part of this rank of an array whose values are all `value`.
class Part {
public:
  Part(const Index3 &n, double value) : n_(n), data_(static_cast<std::size_t>(slab(n).size()), value) {}
  void write(Series &out, Put put = Put::sync) const { out.write("ux", data_.data(), {n_, slab(n_), slab(n_)}, put); }

private:
  Index3 n_;
  std::vector<double> data_;
};

std::vector<std::int64_t> indices(const Series &series) {
  std::vector<std::int64_t> found;
  for (const auto &step : series.steps())
    found.push_back(step.index);
  return found;
}

/// Limits how many more bytes of memory this process can allocate.
class MemoryLimit {
public:
  explicit MemoryLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit now{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more, before_.rlim_max};
    setrlimit(RLIMIT_AS, &now);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }

private:
  rlimit before_{};
};

} // namespace

TEST(Background, EndStepWaitsForNoOtherRank) {
  const SharedFolder folder;
  const Index3 n{17, 12, 9};
  for (const Put put : {Put::sync, Put::deferred}) {
    Series out(std::string(folder) + "/run", Mode::write, world(), in_background);
    const Part part(n, 1.0);
    for (std::int64_t index = 1; index <= 2; ++index) {
      out.begin_step(index, 0.5);
      part.write(out, put);
      const int last = world().size() - 1;
      if (world().rank() == last) // enters it after the others have left it; if they waited, nobody would go on
        for (int other = 0; other < last; ++other)
          MPI_Recv(nullptr, 0, MPI_BYTE, other, 0, world().get(), MPI_STATUS_IGNORE);
      out.end_step();
      if (world().rank() != last)
        MPI_Send(nullptr, 0, MPI_BYTE, last, 0, world().get());
    }
    out.close();
    EXPECT_EQ(indices(Series(std::string(folder) + "/run", Mode::read, world())), (std::vector<std::int64_t>{1, 2}));
  }
}

TEST(Background, NoMemoryForACopyOnOneRankDropsTheStepOnAll) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer itself takes addresses without end";
#endif
  const SharedFolder folder;
  const Index3 small{4, 4, 12}, large{256, 128, 12 * world().size()}; // 3 MiB per rank
  Series out(std::string(folder) + "/run", Mode::write, world(), in_background);
  const auto write_step = [&](std::int64_t index, const std::string &name, const Index3 &n) {
    const Box block = slab(n);
    const std::vector<double> data(static_cast<std::size_t>(block.size()), static_cast<double>(index));
    out.begin_step(index, 0.5 * static_cast<double>(index));
    {
      const bool limited = index == 2 && world().rank() == world().size() - 1;
      const MemoryLimit limit(limited ? 0 : RLIM_INFINITY / 2);
      out.write(name, data.data(), {n, block, block});
    }
    out.end_step();
  };
  write_step(1, "small", small);
  out.flush();
  write_step(2, "large", large);
  const std::string text = error_of<IoError>([&] { out.flush(); });
  EXPECT_TRUE(has(text, "step 2 could not be written in the background") &&
              has(text, "no memory for a copy of 'large'"))
      << text;
  EXPECT_EQ(indices(out), std::vector<std::int64_t>{1});
  write_step(3, "large", large);
  out.close();
  const Series in(std::string(folder) + "/run", Mode::read, world());
  EXPECT_EQ(indices(in), (std::vector<std::int64_t>{1, 3}));
  std::vector<double> found(static_cast<std::size_t>(slab(large).size()));
  in.read(1, "large", slab(large), found.data());
  EXPECT_EQ(found, std::vector<double>(found.size(), 3.0));
}

TEST(Background, AnErrorComesWithTheNextStepOnAllRanks) {
  const SharedFolder folder;
  const Part part({17, 12, 9}, 1.0);
  Series out(std::string(folder) + "/run", Mode::write, world(), in_background);
  if (world().rank() == 0)
    fs::create_directory(std::string(folder) + "/run/ux-1.bin");
  world().barrier();
  out.begin_step(1, 0.5);
  part.write(out);
  out.end_step();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::string text = error_of<IoError>([&] {
    for (std::int64_t index = 2; index < 5; ++index) { // with two buffers, the third begin_step waits for the error
      out.begin_step(index, 1.0);
      part.write(out);
      out.end_step();
    }
  });
  EXPECT_TRUE(has(text, "step 1 could not be written in the background") && has(text, "ux-1.bin")) << text;
  EXPECT_EQ(error_of<InputError>([&] { out.end_step(); }), std::string(folder) +
                                                               "/run: no step is open; call begin_step "
                                                               "first");
  EXPECT_TRUE(indices(out).empty());
  EXPECT_EQ(out.last_index(), std::nullopt);
  if (world().rank() == 0)
    fs::remove(std::string(folder) + "/run/ux-1.bin");
  world().barrier();
  for (std::int64_t index = 1; index < 3; ++index) { // those that were lost, once more
    out.begin_step(index, 0.5);
    part.write(out);
    out.end_step();
  }
  out.close();
  EXPECT_EQ(indices(Series(std::string(folder) + "/run", Mode::read, world())), (std::vector<std::int64_t>{1, 2}));
}

TEST(Background, CloseClosesBeforeItThrows) {
  const SharedFolder folder;
  const std::string path = std::string(folder) + "/run";
  const Part part({17, 12, 9}, 1.0);
  Series out(path, Mode::write, world(), in_background);
  if (world().rank() == 0)
    fs::create_directory(path + "/ux-2.bin");
  world().barrier();
  for (std::int64_t index = 1; index <= 2; ++index) {
    out.begin_step(index, 0.5);
    part.write(out);
    out.end_step();
  }
  out.set_attribute("late", std::int64_t{7});
  const std::string text = error_of<IoError>([&] { out.close(); });
  EXPECT_TRUE(has(text, "step 2 could not be written in the background") && has(text, "ux-2.bin")) << text;
  EXPECT_EQ(indices(out), std::vector<std::int64_t>{1});
  const Series in(path, Mode::read, world());
  EXPECT_EQ(indices(in), std::vector<std::int64_t>{1});
  EXPECT_EQ(in.attributes().at("late"), Attribute(std::int64_t{7}));
  std::ifstream lines(path + "/series.jsonl");
  EXPECT_TRUE(has({std::istreambuf_iterator<char>(lines), {}}, "\"closed\""));
}
