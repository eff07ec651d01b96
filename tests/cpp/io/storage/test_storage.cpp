// Disk space, saved bytes of a file that is being changed, files that others change, and the times of phases.
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/hdf5/journal/saved_state.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/own_files.hpp>
#include <tailrace/io/storage/xdmf.hpp>
#include <tailrace/io/trace_report.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;
namespace fs = std::filesystem;

namespace {

class StorageTest : public testing::Test {
protected:
  void SetUp() override { replace_file(path, text, false); }
  /// Bytes on the disk.
  std::int64_t allocated() const {
    struct stat found{};
    EXPECT_EQ(::stat(path.c_str(), &found), 0);
    return found.st_blocks * 512;
  }
  SharedFolder made;
  const std::string folder = made, path = folder + "/file", text = "head----data----tail";
};

// ---- disk space
// ------------------------------------------------------------------------------------------------------

TEST_F(StorageTest, AStepNeedsItsBytesAndSomeMore) {
  check_free_space(folder, 0, 1);
  struct statvfs disk{};
  ASSERT_EQ(::statvfs(folder.c_str(), &disk), 0);
  const auto free = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  const std::string told = error_of<IoError>([&] { check_free_space(folder, 2 * free, 3); });
  EXPECT_TRUE(has(told, folder) && has(told, "No space left")) << told;
  EXPECT_TRUE(has(told, "The step needs " + std::to_string(2 * free + (1 << 20) + 3 * (1 << 14)) + " bytes, and "));
  EXPECT_TRUE(has(error_of<IoError>([&] { check_free_space(folder + "/none", 1, 1); }), "/none: No such file"));
}

TEST_F(StorageTest, TheLimitOfFilesIsTheirSize) {
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &all), 0);
  const rlimit little{1000, all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_NO_THROW(check_file_limit(path, 1000));
  EXPECT_THROW(check_file_limit(path, 1001), IoError);
  EXPECT_NO_THROW(preallocate(path, 500, 500));
  EXPECT_THROW(preallocate(path, 501, 500), IoError);
  EXPECT_NO_THROW(preallocate_behind(path, 980));
  EXPECT_THROW(preallocate_behind(path, 981), IoError) << "the file has 20 bytes";
  EXPECT_NO_THROW(preallocate_behind(folder + "/none", 1000));
  EXPECT_THROW(preallocate_behind(folder + "/none", 1001), IoError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &all), 0);
  EXPECT_TRUE(has(error_of<IoError>([&] { preallocate_behind(path + "/none", 1); }), "/none: Not a directory"));
}

TEST_F(StorageTest, WhatIsReservedIsGivenBackAndTheSizeStays) {
  const std::int64_t mib = std::int64_t{1} << 20, before = allocated();
  preallocate_large(path, 0, mib - 1);
  EXPECT_EQ(allocated(), before) << "too little to be worth it";
  preallocate_large(FileDescriptor(path, O_WRONLY).get(), path, 0, mib - 1);
  EXPECT_EQ(allocated(), before);
  preallocate_large(path, 0, mib);
  if (allocated() == before)
    GTEST_SKIP() << "nothing can be reserved here";
  EXPECT_GE(allocated(), mib);
  EXPECT_EQ(read_file(path), text);
  release_preallocated(path);
  EXPECT_LT(allocated(), mib);
  EXPECT_EQ(read_file(path), text);
  release_preallocated(path + ".none");
}

// ---- a change in place
// -----------------------------------------------------------------------------------------------

TEST_F(StorageTest, AChangeThatIsUnderWayIsUndone) {
  const SavedState state{20, {{0, {{'h', 'e', 'a', 'd'}, {'H', 'E', 'A', 'D'}}}, {16, {{'t'}, {'T'}}}}};
  const auto belongs = [&](const std::string &now) {
    replace_file(path, now, false);
    return state.belongs_to(FileDescriptor(path, O_RDONLY).get(), path);
  };
  EXPECT_TRUE(belongs("head----data----tail")) << "nothing is changed yet";
  EXPECT_TRUE(belongs("HEAD----data----Tail and more"));
  EXPECT_TRUE(belongs("heAD----DATA----tail")) << "what is not saved may be anything";
  EXPECT_FALSE(belongs("HEAD----data----xail"));
  EXPECT_FALSE(belongs("xead----data----tail"));
  EXPECT_FALSE(belongs("heax----data----tail"));
  EXPECT_FALSE(belongs("HEAD----data----Tai")) << "a byte is missing";
  replace_file(path, "HEaD----data----Tail and more", false);
  state.put_back(FileDescriptor(path, O_WRONLY).get(), path);
  EXPECT_EQ(read_file(path), text);
  EXPECT_THROW(state.put_back(FileDescriptor(path, O_RDONLY).get(), path), IoError);
  EXPECT_THROW(state.belongs_to(-1, path), IoError);
}

// ---- files that others change
// ----------------------------------------------------------------------------------------

TEST_F(StorageTest, FilesThatOthersChangeAreNamed) {
  using State = OwnFiles::State;
  const auto told = [&](const OwnFiles &own) { return error_of<IoError>([&] { own.check(); }); };
  for (const State state : {State::open, State::closed}) {
    replace_file(path, text, false);
    OwnFiles own;
    own.check();
    own.note(path, state);
    own.check();
    fs::resize_file(path, 25);
    own.check(); // it may grow
    fs::resize_file(path, 19);
    EXPECT_TRUE(has(told(own), "cannot write " + path + ": it was cut from 20 to 19 bytes while this program"));
    own.note(path, state);
    own.check();
    replace_file(path, text, false);
    if (state == State::open) {
      EXPECT_TRUE(has(told(own), "it was replaced by another file"));
    } else {
      own.check(); // some file systems give a closed file another number
    }
    fs::remove(path);
    EXPECT_TRUE(has(told(own), path + ": it was removed while"));
  }
  OwnFiles missing;
  missing.note(path, State::closed);
  replace_file(path, text, false);
  EXPECT_TRUE(has(told(missing), "it was removed")) << "it was not there when it was noted";
  EXPECT_THROW(missing.note(path, FileDescriptor()), IoError);
}

// ---- drawings
// --------------------------------------------------------------------------------------------------------

TEST_F(StorageTest, ADrawingOfASeriesIsKnownByItsText) {
  const GridDescription even{{4, 3, 2}, {0.5, 1, -2}, {0.25, 2, 3}, {}};
  const XdmfStep step{
      "s", 0.5, {{"u", Type::int32, "u-1.bin", "", 0, false}, {"c", Type::float32, "f.h5", "/c", 7, true}}};
  XdmfSeries file(path);
  file.add(even, step);
  file.add(even, step);
  const std::string series = read_file(path), snapshot = xdmf_snapshot(even, step);
  EXPECT_TRUE(is_xdmf_series(series));
  EXPECT_FALSE(is_xdmf_series(snapshot));
  EXPECT_FALSE(is_xdmf_series(" " + series));
  EXPECT_EQ(series.find("3DCoRectMesh"), series.rfind("3DCoRectMesh")) << "the second step refers to the first";
  EXPECT_TRUE(series.ends_with("</Xdmf>\n"));
  file.clear();
  EXPECT_FALSE(fs::exists(path));
  for (const char *part :
       {"Dimensions=\"2 3 4\"", "-2 1 0.5", "3 2 0.25", "<Time Value=\"0.5\"/>", "DataType=\"Int\" Precision=\"4\"",
        "./u-1.bin", "Center=\"Node\"", "Center=\"Cell\"", "7 0 0 0", "1 1 2 3\n",
        "NumberType=\"Float\" Precision=\"4\" Dimensions=\"8 1 2 3\"", "f.h5:/c"})
    EXPECT_TRUE(has(snapshot, part)) << part << snapshot;
  GridDescription stretched = even;
  stretched.coordinates[1] = {0, 1, 3.5};
  const std::string rectilinear = xdmf_snapshot(stretched, step);
  for (const char *part :
       {"3DRectMesh", "0.5 0.75 1 1.25 ", "0 1 3.5 ", "-2 1 ", "Dimensions=\"4\"", "Dimensions=\"2\""})
    EXPECT_TRUE(has(rectilinear, part)) << part << rectilinear;
}

// ---- times
// -----------------------------------------------------------------------------------------------------------

void rest(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

TEST_F(StorageTest, TheTimeOfAPhaseIsWithoutThoseInIt) {
  Trace trace;
  {
    const Span before(trace, Phase::read, 7);
  }
  EXPECT_TRUE(trace.events().empty()) << "events are kept on request";
  trace.keep_events();
  Trace::set_step(5);
  {
    Span outer(trace, Phase::metadata, 100);
    {
      Span inner(trace, Phase::write);
      inner.add_bytes(20);
      inner.add_bytes(3);
      {
        const Span innermost(trace, Phase::sync);
      }
      rest(30);
    }
    rest(10);
  }
  Trace::set_step(-1);
  std::thread([&] {
    Trace::set_background();
    const Span alone(trace, Phase::copy);
  }).join();
  EXPECT_EQ(trace.total(Phase::read).bytes, 7);
  EXPECT_EQ(trace.total(Phase::read).calls, 1);
  EXPECT_EQ(trace.total(Phase::wait).calls, 0);
  const Trace::Total outer = trace.total(Phase::metadata), inner = trace.total(Phase::write);
  EXPECT_EQ(outer.bytes, 100);
  EXPECT_EQ(inner.bytes, 23);
  EXPECT_GE(inner.seconds, 0.03);
  EXPECT_GE(outer.seconds, 0.01);
  const auto events = trace.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].phase, Phase::sync);
  EXPECT_EQ(events[0].depth, 2);
  EXPECT_EQ(events[0].outer[0], static_cast<int>(Phase::metadata));
  EXPECT_EQ(events[0].outer[1], static_cast<int>(Phase::write));
  EXPECT_EQ(events[1].bytes, 23);
  EXPECT_EQ(events[2].depth, 0);
  EXPECT_EQ(events[2].step, 5);
  EXPECT_NEAR(events[2].own_seconds, events[2].seconds - events[1].seconds, 1e-9);
  EXPECT_GE(events[1].begin, events[2].begin);
  EXPECT_FALSE(events[2].background);
  EXPECT_TRUE(events[3].background);
  EXPECT_EQ(events[3].step, -1);

  const Communicator alone(MPI_COMM_SELF);
  const auto phases = summarise(trace, alone);
  ASSERT_EQ(phases.size(), 5u) << "those that had work";
  EXPECT_EQ(phases[1].phase, Phase::write);
  EXPECT_EQ(phases[1].bytes, 23);
  EXPECT_EQ(phases[1].min_seconds, inner.seconds);
  EXPECT_EQ(phases[1].mean_seconds, inner.seconds);
  EXPECT_EQ(phases[1].max_seconds, inner.seconds);
  write_chrome_trace(path, "run", trace, alone);
  const auto all = nlohmann::json::parse(read_file(path)).at("traceEvents");
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].at("args").at("name"), "rank 0: run");
  EXPECT_EQ(all[2].at("name"), "write");
  EXPECT_EQ(all[2].at("args"), nlohmann::json::parse(R"({"step": 5, "bytes": 23})"));
  EXPECT_EQ(all[2].at("dur").get<double>(), 1e6 * events[1].seconds);
  EXPECT_EQ(all[2].at("ts").get<double>(), 1e6 * events[1].begin);
  EXPECT_EQ(all[2].at("tid"), 0);
  EXPECT_EQ(all[4].at("tid"), 1);
  write_folded_stacks(path, trace, alone);
  std::istringstream lines(read_file(path));
  std::vector<std::string> stacks;
  for (std::string line; std::getline(lines, line);)
    stacks.push_back(line.substr(0, line.rfind(' ')));
  EXPECT_EQ(stacks, (std::vector<std::string>{"rank 0;background;copy", "rank 0;metadata", "rank 0;metadata;write",
                                              "rank 0;metadata;write;sync"}));
  const std::string micros = std::to_string(std::llround(1e6 * events[1].own_seconds));
  EXPECT_TRUE(has(read_file(path), "rank 0;metadata;write " + micros + "\n"));
}

} // namespace
