#pragma once

#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/engine/parameters.hpp>

#include <cstddef>
#include <string>

namespace tailrace::io {

/// The parameter `blocks`: whether a step lists its blocks in text, or in a table of numbers.
class BlockList {
public:
  BlockList() = default;
  /// Takes the parameter. Throws InputError for another word than auto, lines and table. Local.
  explicit BlockList(Parameters &parameters) {
    const std::string word = parameters.text("blocks", "auto", {"auto", "lines", "table"});
    where_ = word == "lines" ? Where::lines : word == "table" ? Where::table : Where::automatic;
  }

  /// Whether so many blocks of a variable go into a table.
  bool goes_into_table(std::size_t blocks) const {
    return where_ != Where::lines && blocks > (where_ == Where::table ? 0 : most_in_lines);
  }
  bool always_table() const { return where_ == Where::table; }

private:
  enum class Where { automatic, lines, table } where_ = Where::automatic;
};

} // namespace tailrace::io
