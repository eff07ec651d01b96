#pragma once

#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/types.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

// The blocks of the variables of a step as numbers in a file of their own, where lines of text would grow with the
// ranks. For each variable: its blocks as BlockNumbers, then a directory of their pages. A page has 64 blocks; the
// directory has the box around them (z, y, x, nz, ny, nx) and the checksum of their bytes, so that a reader takes the
// pages that it needs and finds all damage. All functions are local.

/// Writes the blocks of a variable behind `end` of the file, which moves on. Returns the description of them that the
/// sidecar gets: [offset, rows, checksum of the directory].
nlohmann::json write_table(const FileDescriptor &file, const std::string &path, const BlockRows &rows,
                           std::int64_t &end);

/// Throws IoError or a JSON exception for a description that cannot be.
void check_table(const nlohmann::json &described);

/// The blocks of one variable of a step, to read.
class BlockTable {
public:
  /// Reads the directory. Throws IoError if the file cannot be read, is damaged, or has a box outside the shape.
  BlockTable(const std::string &path, const nlohmann::json &described, VariableInfo variable);

  /// The blocks that hold points of `box`. Throws IoError as the constructor.
  BlockRows near(const Box &box) const;
  /// All blocks, likewise.
  BlockRows all() const { return near({{0, 0, 0}, variable_.shape}); }

private:
  struct Page {
    Box around;
    std::uint64_t sum = 0;
  };
  const BlockRows &rows_of(std::size_t page) const;
  std::int64_t add_from(std::size_t page, const Box &box, BlockRows &found) const;

  std::string path_;
  VariableInfo variable_;
  FileDescriptor file_;
  std::int64_t offset_ = 0, rows_ = 0;
  std::vector<Page> pages_;
  mutable std::optional<std::size_t> held_; ///< the page of `held_rows_`
  mutable BlockRows held_rows_;
};

} // namespace tailrace::io
