#include <tailrace/io/sion/container.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

const std::string samples = TAILRACE_TEST_DATA "/sion/"; // files that SIONlib has written

/// The contents of the samples and of the files that the tests write: byte i of task r.
std::vector<char> stream(int task, std::int64_t size) {
  std::vector<char> bytes;
  for (std::int64_t i = 0; i < size; ++i)
    bytes.push_back(static_cast<char>((31 * task + i) % 251));
  return bytes;
}

std::vector<char> read_stream(const SionReader &in, int task) {
  std::vector<char> bytes(static_cast<std::size_t>(in.size(task)));
  in.read(task, 0, in.size(task), bytes.data());
  return bytes;
}

class SionTest : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/tailrace_sion_XXXXXX";
    folder = mkdtemp(pattern); // each rank has its own folder, because a container is local
  }
  void TearDown() override { fs::remove_all(folder); }
  /// Writes a container with streams of the given sizes, in pieces of `piece` bytes.
  void write(const SionLayout &layout, const std::vector<std::int64_t> &sizes, std::int64_t piece) const {
    layout.create();
    std::vector<std::vector<std::int64_t>> used;
    for (int task = 0; task < layout.tasks(); ++task) {
      const auto bytes = stream(task, sizes[static_cast<std::size_t>(task)]);
      SionStream out(layout.file(0), layout.place(task));
      for (std::int64_t at = 0; at < std::ssize(bytes); at += piece)
        out.write(bytes.data() + at, std::min(piece, std::ssize(bytes) - at));
      used.push_back(out.close());
    }
    layout.finish(used);
  }
  static std::string refusal(const std::string &path) {
    try {
      const SionReader in(path);
    } catch (const IoError &error) {
      return error.what();
    }
    return {};
  }
  /// Opens the file and reads everything. The values must be correct, or an error must be thrown.
  static void use(const std::string &path) {
    try {
      const SionReader in(path);
      for (int task = 0; task < in.tasks(); ++task)
        read_stream(in, task);
    } catch (const IoError &error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  static bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }
  std::string folder;
};

TEST_F(SionTest, ReadsWhatSionlibWrote) {
  const std::vector<std::int64_t> long_streams{
      6000 + 6001 + 6002 + 6003 + 6004, 6037 + 6038 + 6039 + 6040 + 6041 + 6042,
      6074 + 6075 + 6076 + 6077 + 6078 + 6079 + 6080, 6111 + 6112 + 6113 + 6114 + 6115};
  for (const auto &[name, files, sizes] :
       {std::tuple{"one.sion", 1, std::vector<std::int64_t>{3003, 3114 + 1040, 3225 + 2155, 3336}},
        std::tuple{"multiblock.sion", 1, long_streams}, std::tuple{"twofiles.sion", 2, long_streams}}) {
    const SionReader in(samples + name);
    EXPECT_EQ(in.files(), files);
    ASSERT_EQ(in.tasks(), 4);
    EXPECT_FALSE(in.key_value());
    EXPECT_FALSE(in.big_endian_data());
    for (int task = 0; task < 4; ++task) {
      const auto expected = stream(task, sizes[static_cast<std::size_t>(task)]);
      EXPECT_EQ(read_stream(in, task), expected) << name;
      for (const std::int64_t offset :
           {std::int64_t{0}, in.size(task) - 50,
            std::min(in.used(task)[0] - 25, in.size(task) - 50)}) { // parts; some cross the end of a block
        std::vector<char> part(50);
        in.read(task, offset, 50, part.data());
        EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + offset));
      }
      char byte = 0;
      in.read(task, in.size(task), 0, &byte);
      EXPECT_THROW(in.read(task, in.size(task), 1, &byte), IoError);
      EXPECT_THROW(in.read(task, -1, 1, &byte), IoError);
      EXPECT_THROW(in.read(task, 1, std::numeric_limits<std::int64_t>::max(), &byte), IoError);
    }
    EXPECT_THROW(in.size(4), InputError);
  }
}

/// SIONlib's collective mode: the tasks of a collector share file system blocks, so that only the sum of their chunks
/// is a multiple of the block size. Written number by number, because our own containers are never like this.
TEST_F(SionTest, ReadsCollectiveContainers) {
  const std::vector<std::int64_t> chunks{100, 150, 262, 1000, 24}, sizes{170, 300, 262, 1700, 0};
  constexpr std::int64_t block_bytes = 512, skip = 3 * block_bytes, blocks = 2, tasks = 5;
  std::string bytes = "sion";
  const auto add = [&](auto value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); };
  bytes.append(4, '\0');
  for (const std::int32_t value : {1007, 6, 5, 512, 5, 1, 0})
    add(value);
  add(std::int64_t{50} << 32);
  add(std::int64_t{0});
  bytes += "collective.sion";
  bytes.resize(1076);
  for (std::int64_t task = 0; task < tasks; ++task)
    add(task);
  for (const std::int64_t chunk : chunks)
    add(chunk);
  const std::int64_t start = 3 * block_bytes; // 1088 + 16 * 5, rounded up
  add(static_cast<std::int32_t>(blocks));
  add(start + blocks * skip);
  bytes.resize(static_cast<std::size_t>(start + blocks * skip));
  for (int task = 0, at = static_cast<int>(start); task < tasks; at += static_cast<int>(chunks[task++])) {
    const auto values = stream(task, sizes[task]);
    const auto first = std::min(sizes[task], chunks[task]);
    std::copy_n(values.begin(), first, bytes.begin() + at);
    std::copy(values.begin() + first, values.end(), bytes.begin() + at + skip);
  }
  for (int task = 0; task < tasks; ++task)
    add(std::int64_t{sizes[task] > chunks[task] ? 2 : 1});
  for (int task = 0; task < tasks; ++task)
    add(std::min(sizes[task], chunks[task]));
  for (int task = 0; task < tasks; ++task)
    add(std::max<std::int64_t>(0, sizes[task] - chunks[task]));
  replace_file(folder + "/collective.sion", bytes, false);
  const SionReader in(folder + "/collective.sion");
  ASSERT_EQ(in.tasks(), tasks);
  for (int task = 0; task < tasks; ++task)
    EXPECT_EQ(read_stream(in, task), stream(task, sizes[task])) << task;
}

TEST_F(SionTest, WritesTheSameFilesAsSionlib) {
  for (const auto &[name, chunk, files] : {std::tuple{"one.sion", 4096, 1}, std::tuple{"multiblock.sion", 8192, 1},
                                           std::tuple{"twofiles.sion", 8192, 2}}) {
    const SionReader theirs(samples + name);
    const SionLayout layout(folder + "/" + name, std::vector<std::int64_t>(4, chunk - 5), files);
    layout.create();
    std::vector<std::vector<std::int64_t>> used;
    for (int task = 0; task < 4; ++task) {
      SionStream out(layout.file(0), layout.place(task));
      const auto bytes = read_stream(theirs, task);
      std::int64_t at = 0;
      for (const std::int64_t piece : theirs.used(task)) { // use the same pieces as SIONlib
        if (at > 0)
          out.next_block();
        out.write(bytes.data() + at, piece);
        at += piece;
      }
      used.push_back(out.close());
    }
    layout.finish(used);
    EXPECT_TRUE(read_file(folder + "/" + name) == read_file(samples + name)) << name;
  }
  EXPECT_TRUE(read_file(folder + "/twofiles.sion.000001") == read_file(samples + "twofiles.sion.000001"));
}

TEST_F(SionTest, SplitsWhatIsLargerThanAChunk) {
  const std::vector<std::int64_t> sizes{0, 1, 100000, 4096, 8192, 2'500'000, 77};
  for (const int files : {1, 2, 3, 7})
    for (const std::int64_t piece : {999, 50000, 3'000'000}) {
      const SionLayout layout(folder + "/s.sion", {1, 4097, 5000, 4096, 4096, 1'200'000, 0}, files);
      write(layout, sizes, piece);
      const SionReader in(folder + "/s.sion");
      ASSERT_EQ(in.tasks(), 7);
      EXPECT_EQ(in.files(), files);
      for (int task = 0; task < 7; ++task)
        EXPECT_TRUE(read_stream(in, task) == stream(task, sizes[static_cast<std::size_t>(task)])) << task;
      EXPECT_EQ(in.used(2).size(), 13u); // blocks of 8192 bytes
    }
  EXPECT_THROW(SionLayout(folder + "/s.sion", {}), InputError);
  EXPECT_THROW(SionLayout(folder + "/s.sion", {1, 1}, 3), InputError);
  EXPECT_THROW(SionLayout(folder + "/s.sion", {-1}), InputError);
  EXPECT_THROW(SionLayout(folder + "/s.sion", {1}, 1, 0), InputError);
  EXPECT_THROW(SionLayout(folder + "/s.sion", {std::numeric_limits<std::int64_t>::max(), 1}), InputError);
}

TEST_F(SionTest, KeysAndValues) {
  const SionLayout layout(folder + "/k.sion", {16, 16}, 1, 16); // heads and values cross the ends of blocks
  layout.create();
  std::vector<std::vector<std::int64_t>> used;
  for (int task = 0; task < 2; ++task) {
    SionStream out(layout.file(0), layout.place(task));
    for (const std::int64_t size : {5, 0, 700, 0}) { // nothing follows the last head
      const std::int64_t head[2] = {10 * task + size, size};
      out.write(head, sizeof head);
      out.write(stream(task, size).data(), size);
    }
    used.push_back(out.close());
  }
  layout.finish(used);
  std::string text = read_file(folder + "/k.sion");
  text[40] = 51; // the flag in the header that says so
  replace_file(folder + "/k.sion", text, false);
  const SionReader in(folder + "/k.sion");
  ASSERT_TRUE(in.key_value());
  const auto pairs = in.pairs(1);
  ASSERT_EQ(pairs.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pairs[i].key, static_cast<std::uint64_t>(10 + pairs[i].size));
    std::vector<char> value(static_cast<std::size_t>(pairs[i].size));
    in.read(1, pairs[i].offset, pairs[i].size, value.data());
    EXPECT_EQ(value, stream(1, pairs[i].size));
  }
  EXPECT_EQ(pairs[2].size, 700);

  std::string damaged = read_file(folder + "/k.sion");
  damaged[1120 + 15] = '\x7f'; // changes a length to almost 2^63
  replace_file(folder + "/k.sion", damaged, false);
  EXPECT_THROW(SionReader(folder + "/k.sion").pairs(0), IoError);
  EXPECT_THROW(SionReader(samples + "one.sion").pairs(0), IoError);
}

TEST_F(SionTest, ReadsTheOtherByteOrder) {
  std::string text = read_file(samples + "twofiles.sion.000001"), first = read_file(samples + "twofiles.sion");
  for (std::string *file : {&text, &first}) {
    const auto reverse = [&](std::size_t at, std::size_t size) {
      std::reverse(file->begin() + static_cast<std::ptrdiff_t>(at),
                   file->begin() + static_cast<std::ptrdiff_t>(at + size));
    };
    const std::size_t table = file == &first ? 102400 : 118784, lengths = file == &first ? 14 : 16;
    for (std::size_t at = 8; at < 36; at += 4)
      reverse(at, 4);
    reverse(36, 8), reverse(44, 8), reverse(1108, 4), reverse(1112, 8);
    for (std::size_t i = 0; i < 4; ++i)
      reverse(1076 + 8 * i, 8);
    for (std::size_t i = 0; i < lengths; ++i)
      reverse(table + 8 * i, 8);
    for (std::size_t at = table + 8 * lengths; at < file->size(); at += 4)
      reverse(at, 4);
    (*file)[4] = (*file)[5] = (*file)[6] = (*file)[7] = 1;
  }
  replace_file(folder + "/big.sion", first, false);
  replace_file(folder + "/big.sion.000001", text, false);
  const SionReader in(folder + "/big.sion"), theirs(samples + "twofiles.sion");
  EXPECT_TRUE(in.big_endian_data());
  for (int task = 0; task < 4; ++task)
    EXPECT_EQ(read_stream(in, task), read_stream(theirs, task));
}

TEST_F(SionTest, RefusesWhatIsNotWhole) {
  const std::string path = folder + "/s.sion";
  const SionLayout layout(path, {5000, 5000}, 2);
  layout.create();
  SionStream(layout.file(0), layout.place(0)).write("x", 1);
  EXPECT_TRUE(has(refusal(path), "never closed") && has(refusal(path), path));
  write(layout, {9000, 20000}, 512);
  EXPECT_EQ(refusal(path), "");
  EXPECT_TRUE(has(refusal(path + ".000001"), "open the first file"));
  fs::remove(path + ".000001");
  EXPECT_TRUE(has(refusal(path), "No such file") && has(refusal(path), ".000001"));
  replace_file(path, "this is no container at all", false);
  EXPECT_TRUE(has(refusal(path), "27 bytes"));
  replace_file(path, std::string(5000, 'x'), false);
  EXPECT_TRUE(has(refusal(path), "no SION container"));
  EXPECT_TRUE(has(refusal(folder), "it is a directory"));
  EXPECT_TRUE(has(refusal(folder + "/none.sion"), "No such file"));
}

TEST_F(SionTest, RefusesWhatIsCut) {
  for (const std::string name : {"one.sion", "multiblock.sion", "twofiles.sion", "twofiles.sion.000001"}) {
    for (const char *file : {"one.sion", "multiblock.sion", "twofiles.sion", "twofiles.sion.000001"})
      replace_file(folder + "/" + file, read_file(samples + file), false);
    const std::string opened = folder + "/" + name.substr(0, name.find(".sion") + 5);
    EXPECT_EQ(refusal(opened), "");
    const std::string text = read_file(samples + name);
    for (std::size_t cut = 0; cut < 50; ++cut) {
      // Half of the cuts are near the end, where they are hardest to detect. The last cut removes one byte.
      const std::size_t size = cut < 25 ? text.size() * cut / 25 : text.size() - (50 - cut);
      fs::resize_file(folder + "/" + name, 0);
      replace_file(folder + "/" + name, text.substr(0, size), false);
      EXPECT_TRUE(has(refusal(opened), folder + "/" + name)) << name << " cut to " << size << ": " << refusal(opened);
    }
  }
}

TEST_F(SionTest, BearsFlippedBytes) {
  std::mt19937 random(7);
  for (const std::string name : {"one.sion", "twofiles.sion"}) {
    const std::string text = read_file(samples + name), path = folder + "/" + name;
    if (name == "twofiles.sion")
      replace_file(path + ".000001", read_file(samples + name + ".000001"), false);
    const std::size_t table = name == "one.sion" ? 36864 : 102400;
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < text.size(); ++at)
      if (at < 52 || (at >= 1076 && at < 1152) || at >= table)
        places.push_back(at);
    for (const std::size_t at : places)
      for (const int flip : {0x01, 0x80, 0xff, static_cast<int>(random() % 255 + 1)}) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        replace_file(path, damaged, false);
        use(path);
        // Damage of all bytes that give positions must be detected. The version numbers of the library and the
        // lengths are exceptions: versions have no effect, and every smaller length is valid.
        const std::size_t n = name == "one.sion" ? 4 : 2;
        const bool layout = at < 8 || (at >= 16 && at < 20) || (at >= 24 && at < 36) || (at > 40 && at < 44) ||
                            (at >= 1076 + 8 * n && at < 1088 + 16 * n);
        EXPECT_TRUE(!layout || !refusal(path).empty()) << name << " byte " << at << " ^ " << flip;
      }
  }
}

TEST_F(SionTest, RanksWriteTogetherAndReadEverything) {
  const Communicator comm(MPI_COMM_WORLD);
  const std::string path = comm.broadcast(folder, 0) + "/together.sion";
  for (int files = 1; files <= comm.size(); ++files) {
    const SionLayout layout(path, std::vector<std::int64_t>(static_cast<std::size_t>(comm.size()), 9000), files, 512);
    comm.agree([&] {
      if (comm.rank() == 0)
        layout.create();
    });
    std::string ours;
    comm.agree([&] {
      SionStream out(layout.file(0), layout.place(comm.rank()));
      out.write(stream(comm.rank(), 30000 + comm.rank()).data(), 30000 + comm.rank());
      const auto used = out.close();
      ours.assign(reinterpret_cast<const char *>(used.data()), used.size() * sizeof used[0]);
    });
    const auto all = comm.gather(ours, 0);
    comm.agree([&] {
      std::vector<std::vector<std::int64_t>> used;
      for (const auto &text : all) {
        used.emplace_back(text.size() / sizeof(std::int64_t));
        std::memcpy(used.back().data(), text.data(), text.size());
      }
      if (comm.rank() == 0)
        layout.finish(used);
    });
    {
      const SionReader in(path);
      ASSERT_EQ(in.tasks(), comm.size());
      for (int task = 0; task < comm.size(); ++task)
        EXPECT_TRUE(read_stream(in, task) == stream(task, 30000 + task));
    }
    comm.barrier();
  }
}

} // namespace
