// The index of chunks in an HDF5 file, which HDF5 trusts: each damage of it must be noticed before HDF5 reads it.
#include <tailrace/io/hdf5/journal/chunk_tree.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io::h5;

namespace {

constexpr std::size_t key_bytes = 8 + 8 * 5; // of datasets of four dimensions
constexpr std::size_t node_bytes = 24 + 64 * 8 + 65 * key_bytes;
constexpr std::int64_t end = 1 << 20;

struct Child {
  std::int64_t address, bytes;
};

/// A node as HDF5 writes it: chunk `first + n` begins at row `first + n`.
class Node {
public:
  Node(int level, const std::vector<Child> &children, std::int64_t left = -1, std::int64_t right = -1,
       std::int64_t first = 0)
      : bytes_(node_bytes, '\0') {
    bytes_.replace(0, 5, "TREE\1");
    bytes_[5] = static_cast<char>(level);
    put<std::uint16_t>(6, static_cast<std::uint16_t>(children.size()));
    put(8, left);
    put(16, right);
    for (std::size_t at = 0; at <= children.size(); ++at) {
      put<std::int64_t>(key(at) + 8, first + static_cast<std::int64_t>(at));
      if (at == children.size())
        break;
      put<std::uint32_t>(key(at), static_cast<std::uint32_t>(children[at].bytes));
      put(key(at) + key_bytes, children[at].address);
    }
  }
  static std::size_t key(std::size_t at) { return 24 + at * (key_bytes + 8); }
  template <class T> void put(std::size_t place, T value) { std::memcpy(bytes_.data() + place, &value, sizeof value); }
  bool is_sound(std::size_t size = node_bytes, std::int64_t file = end) const {
    try {
      check_tree_node(bytes_.data(), size, file);
      return true;
    } catch (const IoError &error) {
      EXPECT_STREQ(error.what(), "the index of its chunks is damaged");
      return false;
    }
  }
  void add_to(ChunkTree &tree, std::int64_t address) const { tree.add(address, bytes_.data(), bytes_.size(), end); }

private:
  std::string bytes_;
};

TEST(TreeNode, ChunksLieInTheFile) {
  EXPECT_TRUE(Node(0, {}).is_sound());
  EXPECT_TRUE(Node(0, {{1, 1}, {end - 8, 8}, {end - 1, 1}}).is_sound());
  for (const Child &wrong : {Child{0, 8}, Child{-1, 8}, Child{8, 0}, Child{end, 1}, Child{end - 8, 9},
                             Child{end + 1, 1}, Child{1, std::int64_t{1} << 31}})
    EXPECT_FALSE(Node(0, {{8, 8}, wrong}).is_sound()) << wrong.address << " " << wrong.bytes;
}

TEST(TreeNode, InnerNodesHaveTheSizeOfNodes) {
  const auto size = static_cast<std::int64_t>(node_bytes);
  EXPECT_TRUE(Node(1, {{end - size, 1}, {8, end + 1}}).is_sound()) << "the sizes in their keys say nothing";
  EXPECT_FALSE(Node(1, {{end - size + 1, 1}}).is_sound());
  EXPECT_TRUE(Node(0, {}, end - size, 1).is_sound());
  EXPECT_FALSE(Node(0, {}, end - size + 1, -1).is_sound());
  EXPECT_FALSE(Node(0, {}, -1, end - size + 1).is_sound());
  EXPECT_FALSE(Node(0, {}, 0, -1).is_sound());
  EXPECT_FALSE(Node(0, {}, -1, -2).is_sound());
}

TEST(TreeNode, HasAtMost64ChildrenInOrder) {
  const std::vector<Child> most(64, {8, 8});
  Node full(0, most);
  EXPECT_TRUE(full.is_sound());
  full.put<std::uint16_t>(6, 65);
  EXPECT_FALSE(full.is_sound());
  for (const std::size_t at : {0, 1, 2}) {
    Node node(0, {{8, 8}, {16, 8}, {24, 8}});
    node.put<std::int64_t>(Node::key(at + 1) + 8, static_cast<std::int64_t>(at)); // as the one before
    EXPECT_FALSE(node.is_sound()) << at;
    node.put<std::int64_t>(Node::key(at + 1) + 40, 1); // and later in the last dimension
    EXPECT_TRUE(at == 2 ? node.is_sound() : true) << at;
  }
  Node filtered(0, {{8, 8}});
  filtered.put<std::uint32_t>(4 + Node::key(0), 7); // the mask of filters is no part of the order
  EXPECT_TRUE(filtered.is_sound());
}

TEST(TreeNode, OthersPass) {
  const Node wrong(0, {{0, 0}});
  ASSERT_FALSE(wrong.is_sound());
  EXPECT_TRUE(wrong.is_sound(23)) << "shorter than a head";
  EXPECT_TRUE(wrong.is_sound(24 + 64 * 8)) << "without keys";
  EXPECT_TRUE(wrong.is_sound(24 + 64 * 8 + 65 * 8)) << "keys without a place";
  EXPECT_TRUE(wrong.is_sound(node_bytes - 1)) << "of another width";
  EXPECT_TRUE(wrong.is_sound(24 + 64 * 8 + 65 * 12));
  for (std::size_t at = 0; at < 5; ++at) {
    Node other = wrong;
    other.put(at, 'x');
    EXPECT_TRUE(other.is_sound()) << at;
  }
}

/// A root at 100 over leaves at 200 and 300.
class TreeTest : public testing::Test {
protected:
  const Node root{1, {{200, 1}, {300, 1}}}, left{0, {{1000, 8}, {1008, 8}}, -1, 300}, right{0, {{1016, 4}}, 200, -1, 2};
  ChunkTree tree;
  static bool fails(const std::function<void()> &work) {
    try {
      work();
      return false;
    } catch (const IoError &) {
      return true;
    }
  }
};

TEST_F(TreeTest, GivesItsChunksInOrder) {
  root.add_to(tree, 100);
  left.add_to(tree, 200);
  left.add_to(tree, 200); // HDF5 may read a node again
  right.add_to(tree, 300);
  const auto &chunks = tree.chunks();
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].address, 1000);
  EXPECT_EQ(chunks[1].address, 1008);
  EXPECT_EQ(chunks[2].address, 1016);
  EXPECT_EQ(chunks[2].bytes, 4);
}

TEST_F(TreeTest, OfOneLeafIsWhole) {
  Node(0, {{8, 8}}).add_to(tree, 100);
  EXPECT_EQ(tree.chunks().size(), 1u);
  EXPECT_TRUE(ChunkTree().chunks().empty());
}

TEST_F(TreeTest, WithoutOneOfItsNodesIsDamaged) {
  root.add_to(tree, 100);
  EXPECT_TRUE(fails([&] { tree.chunks(); }));
  left.add_to(tree, 200);
  EXPECT_TRUE(fails([&] { tree.chunks(); }));
  ChunkTree alone; // whose right neighbour nobody reads
  left.add_to(alone, 200);
  EXPECT_TRUE(fails([&] { alone.chunks(); }));
}

TEST_F(TreeTest, NodesAreThoseThatOthersName) {
  root.add_to(tree, 100);
  EXPECT_TRUE(fails([&] { left.add_to(tree, 208); })) << "nobody has named it";
  ChunkTree second;
  root.add_to(second, 100);
  EXPECT_TRUE(fails([&] { root.add_to(second, 200); })) << "of another level";
  ChunkTree third;
  root.add_to(third, 100);
  EXPECT_TRUE(fails([&] { right.add_to(third, 300); })) << "the left one comes first";
  ChunkTree fourth;
  root.add_to(fourth, 100);
  Node(0, {{1000, 8}}, -1, 308).add_to(fourth, 200);
  EXPECT_TRUE(fails([&] { right.add_to(fourth, 300); })) << "the left one says that another is beside it";
  ChunkTree circle;
  EXPECT_TRUE(fails([&] { Node(1, {{100, 1}}).add_to(circle, 100); })) << "it is its own child";
  ChunkTree twice;
  EXPECT_TRUE(fails([&] { Node(1, {{200, 1}, {200, 1}}).add_to(twice, 100); }));
}

} // namespace
