#include <tailrace/io/data/block_rows.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

namespace tailrace::io {

BlockNumbers numbers_of(const BlockRow &block) {
  const auto &[start, count] = block.box;
  return {block.number, block.offset, start[2],
          start[1],     start[0],     count[2],
          count[1],     count[0],     static_cast<std::int64_t>(block.sum)};
}

BlockRow block_of(const BlockNumbers &n) {
  return {n[0], n[1], {{n[4], n[3], n[2]}, {n[7], n[6], n[5]}}, static_cast<std::uint64_t>(n[8])};
}

std::vector<BlockRows> gather_blocks(const std::vector<VariableBlock> &ours, std::size_t variables,
                                     const Communicator &comm) {
  std::vector<BlockRows> all(variables);
  for (const auto &[variable, block] : comm.gather(ours, 0))
    all[variable].push_back(block);
  return all;
}

std::string checksums_to_json(const BlockRows &rows) {
  // Not by the library of JSON: of 100,000 ranks its values take a hundred megabytes.
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  text.push_back('[');
  for (const BlockRow &block : rows) {
    const BlockNumbers n = numbers_of(block);
    fmt::format_to(out, "{}[{},\"{:016x}\"]", text.size() > 1 ? "," : "", fmt::join(n.begin() + 2, n.end() - 1, ","),
                   block.sum);
  }
  text.push_back(']');
  return fmt::to_string(text);
}

std::string checksums_to_json(const StepBlocks &blocks) {
  std::string text = "{";
  for (const auto &[name, rows] : blocks) // names of variables have plain characters
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, checksums_to_json(rows));
  return text + "}";
}

} // namespace tailrace::io
