#include <tailrace/io/hdf5/journal/chunk_tree.hpp>

#include <tailrace/support/error.hpp>

#include <cstring>

namespace tailrace::io::h5 {

namespace {

// "Disk Format: Level 1A1 - Version 1 B-trees" of HDF5's file format: signature, type, level, number of children,
// addresses of the left and the right node; then a key, a child, a key, ..., a key. The key of a chunk is its size, its
// filter mask, and where it begins in each dimension. Numbers are little-endian.
constexpr std::size_t head_bytes = 24, address_bytes = 8, most_children = 64;
constexpr std::int64_t none = -1;

template <class T> T number(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// A node of chunks as it lies in the file.
class Node {
public:
  Node(const char *bytes, std::size_t size) : bytes_(bytes) {
    if (size < head_bytes + most_children * address_bytes || std::memcmp(bytes, "TREE\1", 5) != 0)
      return;
    const std::size_t keys = size - head_bytes - most_children * address_bytes;
    if (keys % (most_children + 1) == 0 && keys / (most_children + 1) % 8 == 0)
      key_bytes_ = keys / (most_children + 1);
  }
  bool is_ours() const { return key_bytes_ > 8; }
  int level() const { return static_cast<unsigned char>(bytes_[5]); }
  std::size_t children() const { return number<std::uint16_t>(bytes_ + 6); }
  std::int64_t left() const { return number<std::int64_t>(bytes_ + 8); }
  std::int64_t right() const { return number<std::int64_t>(bytes_ + 16); }
  std::int64_t child(std::size_t at) const { return number<std::int64_t>(key(at) + key_bytes_); }
  std::int64_t bytes_of(std::size_t at) const { return number<std::uint32_t>(key(at)); }
  /// Whether key `at` is less than the next one.
  bool ascends(std::size_t at) const {
    for (std::size_t d = 8; d < key_bytes_; d += 8) {
      const auto here = number<std::uint64_t>(key(at) + d), next = number<std::uint64_t>(key(at + 1) + d);
      if (here != next)
        return here < next;
    }
    return false;
  }

private:
  const char *key(std::size_t at) const { return bytes_ + head_bytes + at * (key_bytes_ + address_bytes); }
  const char *bytes_;
  std::size_t key_bytes_ = 0;
};

void require(bool sound) {
  if (!sound)
    throw IoError("the index of its chunks is damaged");
}

bool lies_before(std::int64_t end, std::int64_t address, std::int64_t bytes) {
  return address > 0 && bytes > 0 && address <= end && bytes <= end - address;
}

void check_node(const Node &node, std::size_t size, std::int64_t end) {
  require(node.children() <= most_children);
  for (const std::int64_t beside : {node.left(), node.right()})
    require(beside == none || lies_before(end, beside, static_cast<std::int64_t>(size)));
  for (std::size_t at = 0; at < node.children(); ++at)
    require(node.ascends(at) &&
            lies_before(end, node.child(at), node.level() == 0 ? node.bytes_of(at) : static_cast<std::int64_t>(size)));
}

} // namespace

void check_tree_node(const char *bytes, std::size_t size, std::int64_t end) {
  if (const Node node(bytes, size); node.is_ours())
    check_node(node, size, end);
}

void ChunkTree::add(std::int64_t address, const char *bytes, std::size_t size, std::int64_t end) {
  const Node node(bytes, size);
  if (!node.is_ours() || !read_.insert(address).second) // HDF5 may read a node again
    return;
  check_node(node, size, end);
  const auto known = levels_.find(address);
  require(known == levels_.end() ? rows_.empty() : known->second == node.level());
  levels_.erase(address);
  Row &row = rows_[node.level()];
  require(node.left() == row.last && (row.last == none || row.next == address));
  row = {address, node.right()};
  for (std::size_t at = 0; at < node.children(); ++at)
    if (node.level() == 0)
      chunks_.push_back({node.child(at), node.bytes_of(at)});
    else
      require(!read_.count(node.child(at)) && levels_.emplace(node.child(at), node.level() - 1).second);
}

const std::vector<StoredChunk> &ChunkTree::chunks() const {
  require(levels_.empty());
  for (const auto &[level, row] : rows_)
    require(row.next == none);
  return chunks_;
}

} // namespace tailrace::io::h5
