// Tests of the system calls for large blocks: space is reserved before a block is written, blocks are written in pieces
// that fill whole parts of the page cache, and files that will be synced are sent to the disk while they are written.
#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/storage/file_array.hpp>
#include <tailrace/io/storage/writeback.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <string>
#include <vector>

namespace {

struct Range {
  std::int64_t begin, bytes;
};
std::vector<Range> sent, reserved, written;
int reserve_code = 0;

} // namespace

// These functions replace those of the system, because the linker finds them first.
extern "C" int fallocate(int fd, int mode, __off_t begin, __off_t bytes) {
  reserved.push_back({begin, bytes});
  struct stat info{};
  EXPECT_EQ(mode, FALLOC_FL_KEEP_SIZE);
  EXPECT_EQ(fstat(fd, &info), 0);
  EXPECT_LE(info.st_size, begin) << "before anything is written there";
  errno = reserve_code;
  return reserve_code == 0 ? 0 : -1;
}
extern "C" int sync_file_range(int, __off64_t begin, __off64_t bytes, unsigned) {
  sent.push_back({begin, bytes});
  return 0;
}
extern "C" ssize_t pwritev(int fd, const iovec *parts, int count, __off_t begin) {
  const ssize_t done = syscall(SYS_pwritev, fd, parts, count, begin, 0);
  written.push_back({begin, done});
  return done;
}

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::int64_t total(const std::vector<Range> &ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const Range &range) { return sum + range.bytes; });
}

TEST(Writeback, SendsWhatHasComeInAnyOrder) {
  sent.clear();
  Writeback writeback(true);
  for (const std::int64_t begin : {7, 3, 5, 1, 9, 11, 13}) // every second MiB
    writeback.wrote(0, begin * mib, mib);
  EXPECT_TRUE(sent.empty());
  writeback.wrote(0, 15 * mib, mib);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].begin, 1 * mib);
  EXPECT_EQ(sent[0].bytes, 15 * mib);
  writeback.wrote(0, 40 * mib, 9 * mib); // the earlier ranges are not sent again
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].begin, 40 * mib);
  EXPECT_EQ(sent[1].bytes, 9 * mib);
}

TEST(Writeback, OffSendsNothing) {
  sent.clear();
  Writeback().wrote(0, 0, 100 * mib);
  EXPECT_TRUE(sent.empty());
}

/// Writes a block of an array that begins at an arbitrary offset of a file, and reads the block.
void write_array(const Box &whole, const Box &part, const Box &memory, bool summed = true) {
  const test::SharedFolder folder;
  const std::string path = static_cast<const std::string &>(folder) + "/array";
  const std::int64_t offset = 12344;
  const Placement place{whole.count, part, memory};
  std::vector<double> data(static_cast<std::size_t>(memory.size())), wanted(static_cast<std::size_t>(part.size()));
  std::iota(data.begin(), data.end(), 0.5);
  convert_block(place, Type::float64, Type::float64, data.data(), wanted.data());
  RunningChecksum sum, expected;
  expected.add(wanted.data(), wanted.size() * sizeof(double));
  const FileDescriptor file(path, O_RDWR | O_CREAT);
  written.clear();
  write_block(file.get(), path, offset, whole,
              {"u", Type::float64, place, data.data(), false, summed ? &sum : nullptr});
  if (summed) {
    EXPECT_EQ(sum.text(), expected.text());
  }
  EXPECT_EQ(total(written), part.size() * 8);
  std::vector<double> found(wanted.size());
  read_box(file.get(), path, offset, whole.count, part, sizeof(double), found.data());
  EXPECT_EQ(found, wanted);
}

/// Expects pieces without gaps, which all begin, except the first, at a multiple of `size` in the file.
void expect_pieces(std::int64_t size) {
  for (std::size_t i = 1; i < written.size(); ++i) {
    EXPECT_EQ(written[i].begin, written[i - 1].begin + written[i - 1].bytes);
    EXPECT_EQ(written[i].begin % size, 0);
    EXPECT_LE(written[i].bytes, size);
  }
}

TEST(FileArray, IsWrittenInWholePiecesOfTheFile) {
  const Box whole{{0, 0, 0}, {301, 70, 150}}, planes{{0, 0, 7}, {301, 70, 131}}; // 21 MiB
  write_array(whole, planes, planes);
  ASSERT_GE(written.size(), 21u);
  expect_pieces(piece_bytes);
  write_array(whole, planes, planes, false);
  ASSERT_GE(written.size(), 3u);
  expect_pieces(8 * piece_bytes);
}

TEST(FileArray, IsWrittenFromWithinAHalo) {
  const Box whole{{0, 0, 0}, {301, 70, 60}}, part{{0, 3, 7}, {301, 60, 41}};
  write_array(whole, part, {{-2, 1, 6}, {305, 64, 43}});
  EXPECT_EQ(written.size(), 41u) << "a plane at once";
  write_array(whole, part, part);
  EXPECT_EQ(written.size(), 41u);
}

TEST(FileArray, IsWrittenInAsManyRowsAsTheSystemTakesAtOnce) {
  const Box whole{{0, 0, 0}, {40, 70, 60}}, part{{0, 0, 7}, {40, 70, 41}}; // 2870 rows without gaps in the file
  for (const bool summed : {true, false}) {
    write_array(whole, part, {{-2, -1, 6}, {44, 72, 43}}, summed);
    EXPECT_EQ(written.size(), 3u); // at most 1024 rows per call
  }
}

class LargeBlocks : public testing::TestWithParam<std::string> {
protected:
  /// Writes a slab of 32 MiB on every rank, from within so many ghost points in x, and reads the slab.
  void write(bool sync, std::int64_t halo = 0) {
    const test::SharedFolder folder;
    const IoConfiguration &configuration = io_configuration(GetParam());
    Options options;
    options.engine = configuration.engine;
    options.parameters = configuration.parameters;
    options.parameters["sync"] = sync ? "on" : "off";
    const Communicator comm(MPI_COMM_WORLD);
    const Index3 shape{256, 128, 128 * comm.size()};
    const Box block{{0, 0, 128 * comm.rank()}, {256, 128, 128}};
    const Box memory{{-halo, 0, 128 * comm.rank()}, {256 + 2 * halo, 128, 128}};
    std::vector<double> data(static_cast<std::size_t>(memory.size())), wanted(static_cast<std::size_t>(block.size()));
    std::iota(data.begin(), data.end(), 1e8 * comm.rank()); // no two points have the same value
    const std::string path = static_cast<const std::string &>(folder) + "/run" + io_suffix(options.engine);
    Series out(path, Mode::write, comm, options);
    sent.clear();
    reserved.clear();
    out.begin_step(0, 0);
    out.write("u", data.data(), {shape, block, memory});
    out.end_step();
    out.close();
    const Series in(path, Mode::read, comm);
    std::vector<double> found(wanted.size());
    in.read(0, "u", block, found.data());
    convert_block({shape, block, memory}, Type::float64, Type::float64, data.data(), wanted.data());
    EXPECT_TRUE(found == wanted) << "on rank " << comm.rank();
  }
};

TEST_P(LargeBlocks, AreOnTheirWayBeforeTheSync) {
  write(true);
  EXPECT_GT(total(sent), 24 * mib); // all pieces except the last
  EXPECT_LE(total(sent), 32 * mib);
}

TEST_P(LargeBlocks, AreLeftToTheSystemWithoutSync) {
  write(false);
  EXPECT_TRUE(sent.empty());
}

TEST_P(LargeBlocks, FindTheirRoomReserved) {
  write(false);
  const Communicator comm(MPI_COMM_WORLD);
  EXPECT_EQ(comm.sum(total(reserved)), comm.size() * 32 * mib);
}

/// Configurations in which rank 0 reserves the space of all blocks.
class CollectedBlocks : public LargeBlocks {};

TEST_P(CollectedBlocks, FindTheirRoomReserved) {
  write(false);
  const Communicator comm(MPI_COMM_WORLD);
  EXPECT_EQ(total(reserved), comm.rank() == 0 ? comm.size() * 32 * mib : 0);
}

/// A rank that packs a message must not touch the one before, which may still be on its way.
TEST_P(CollectedBlocks, ComeFromWithinAHalo) { write(false, 1); }

TEST_P(LargeBlocks, AreWrittenWhereNothingCanBeReserved) {
  reserve_code = EOPNOTSUPP;
  write(false);
  reserve_code = 0;
  EXPECT_GT(Communicator(MPI_COMM_WORLD).sum(total(reserved)), 0) << "it was asked";
}

INSTANTIATE_TEST_SUITE_P(Engines, LargeBlocks, testing::Values("raw", "raw_dist", "mpiio", "hdf5", "sion"),
                         [](const auto &parameter) { return parameter.param; });
INSTANTIATE_TEST_SUITE_P(Engines, CollectedBlocks, testing::Values("raw_node", "raw_collect", "mpiio_collective"),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
