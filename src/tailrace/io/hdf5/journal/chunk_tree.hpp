#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

/// HDF5 finds chunks by B-trees of version 1, which carry no checksums, and trusts them: a damaged one ends the program
/// or makes it write over other data. So our driver checks each node before HDF5 gets it.
namespace tailrace::io::h5 {

/// Where a chunk is stored.
struct StoredChunk {
  std::int64_t address = 0, bytes = 0;
};

/// Throws IoError if these bytes, which HDF5 read as a node of a B-tree, are a damaged node of chunks. `end`: no object
/// of the file lies beyond it. Trees of other kinds pass, and trees of a width that our files never have.
void check_tree_node(const char *bytes, std::size_t size, std::int64_t end);

/// A whole tree of chunks. HDF5 reads it from the root down and from left to right, each node once.
class ChunkTree {
public:
  /// The next node, at `address`. Throws IoError if it cannot follow those before it.
  void add(std::int64_t address, const char *bytes, std::size_t size, std::int64_t end);
  /// After the last node. Throws IoError if nodes are missing.
  const std::vector<StoredChunk> &chunks() const;

private:
  struct Row {
    std::int64_t last = -1, next = -1; ///< its last node so far, and what that says is to its right
  };
  std::map<std::int64_t, int> levels_; ///< of nodes that were not read yet, by address
  std::set<std::int64_t> read_;        ///< addresses of the others
  std::map<int, Row> rows_;            ///< of nodes of the same level
  std::vector<StoredChunk> chunks_;
};

} // namespace tailrace::io::h5
