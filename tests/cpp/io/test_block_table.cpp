// The table of the blocks of a step: what is near a box is found without the rest, and all damage is.
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/sidecar/block_table.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/trace.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;
using nlohmann::json;

namespace {

/// The blocks of 10 x 9 x 8 ranks, two variables of them with other offsets behind something else in the file.
class BlockTableTest : public testing::Test {
protected:
  static BlockRows grid(std::int64_t offset) {
    BlockRows rows;
    for (std::int64_t k = 0; k < 8; ++k)
      for (std::int64_t j = 0; j < 9; ++j)
        for (std::int64_t i = 0; i < 10; ++i) {
          const auto n = static_cast<std::int64_t>(rows.size());
          rows.push_back({n % 7, offset + 96 * n, {{4 * i, 3 * j, k}, {4, 3, 1}}, ~static_cast<std::uint64_t>(n)});
        }
    return rows;
  }
  json written(const BlockRows &rows) {
    const FileDescriptor file(path, O_WRONLY | O_CREAT);
    return write_table(file, path, rows, end);
  }
  std::string bytes() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string &text) const {
    const FileDescriptor file(path, O_WRONLY | O_TRUNC);
    write_all(file.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, path);
  }
  static bool same(const BlockRow &a, const BlockRow &b) {
    return a.number == b.number && a.offset == b.offset && a.box == b.box && a.sum == b.sum;
  }
  SharedFolder made;
  const std::string path = std::string(made) + "/step-00000001.blocks";
  const VariableInfo u{"u", Type::float64, {40, 27, 8}};
  std::int64_t end = 40;
};

TEST_F(BlockTableTest, AllBlocksAreReadAsTheyWereWritten) {
  const BlockRows one = grid(0), two = grid(1000);
  const json first = written(one), second = written(two);
  EXPECT_EQ(first.at(0), 40);
  EXPECT_EQ(second.at(0), 40 + 720 * 72 + 12 * 56) << "720 rows, and a directory of 12 pages";
  for (const auto &[rows, described] : {std::pair(one, first), std::pair(two, second)}) {
    const BlockRows found = BlockTable(path, described, u).all();
    EXPECT_TRUE(std::equal(found.begin(), found.end(), rows.begin(), rows.end(), same));
  }
  const std::string text = bytes();
  const auto *numbers = reinterpret_cast<const std::int64_t *>(text.data() + 40 + 72 * 13);
  EXPECT_EQ(std::vector<std::int64_t>(numbers, numbers + 9),
            (std::vector<std::int64_t>{13 % 7, 96 * 13, 0, 3, 12, 1, 3, 4, ~13}))
      << "as docs/io/raw.md says";
}

TEST_F(BlockTableTest, TheBlocksNearABoxAreThoseThatMeetIt) {
  const BlockRows rows = grid(0);
  const BlockTable table(path, written(rows), u);
  for (const Box &box : {Box{{5, 4, 2}, {9, 8, 3}}, Box{{39, 26, 7}, {1, 1, 1}}, Box{{0, 0, 3}, {40, 27, 1}}}) {
    BlockRows expected;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(expected),
                 [&](const BlockRow &row) { return !row.box.intersect(box).empty(); });
    const BlockRows found = table.near(box);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end(), same));
  }
  EXPECT_TRUE(table.near({{3, 3, 3}, {0, 1, 1}}).empty());
}

TEST_F(BlockTableTest, PagesThatAreFarFromABoxAreNotRead) {
  const json described = written(grid(0));
  const BlockTable table(path, described, u);
  std::string text = bytes();
  text[40 + 72 * 710] ^= 1; // of the last page
  overwrite(text);
  EXPECT_EQ(table.near({{0, 0, 0}, {1, 1, 1}}).size(), 1u);
  EXPECT_TRUE(has(error_of<IoError>([&] { table.near({{39, 26, 7}, {1, 1, 1}}); }), "differ from their checksum"));
}

TEST_F(BlockTableTest, AllDamageIsFound) {
  const json described = written(grid(0));
  const std::string text = bytes();
  const auto read = [&] { BlockTable(path, described, u).all(); };
  for (std::size_t at = 40; at < text.size(); at += 37) {
    std::string damaged = text;
    damaged[at] ^= 1;
    overwrite(damaged);
    EXPECT_THROW(read(), IoError) << at;
  }
  for (const std::size_t size : {std::size_t{0}, text.size() / 2, text.size() - 1}) {
    overwrite(text.substr(0, size));
    EXPECT_TRUE(has(error_of<IoError>(read), "expected 720 blocks from byte 40 on")) << size;
  }
  std::filesystem::remove(path);
  EXPECT_THROW(read(), IoError);
}

TEST_F(BlockTableTest, ABlockOutsideTheShapeIsRefused) {
  const json described = written(grid(0));
  for (const Index3 &shape : {Index3{39, 27, 8}, Index3{40, 26, 8}, Index3{40, 27, 7}})
    EXPECT_TRUE(has(error_of<IoError>([&] { BlockTable(path, described, {"u", Type::float64, shape}); }),
                    "do not lie in its shape"));
}

TEST(BlockTableText, ImpossibleDescriptionsAreRefused) {
  check_table(json::parse(R"([0, 1, "0123456789abcdef"])"));
  for (const char *text : {R"([-1, 1, ""])", R"([0, 0, ""])", R"([0, -1, ""])", R"([1152921504606846977, 1, ""])",
                           R"([0, 1152921504606846976, ""])"})
    EXPECT_THROW(check_table(json::parse(text)), IoError) << text;
  for (const char *text : {"[]", "[0, 1]", "[0, 1, 2]", R"([0.5, 1, ""])", "{}", "7"})
    EXPECT_THROW(check_table(json::parse(text)), json::exception) << text;
}

} // namespace
