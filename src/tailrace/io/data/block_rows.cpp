#include <tailrace/io/data/block_rows.hpp>

#include <fmt/format.h>

#include <iterator>

namespace tailrace::io {

std::string checksums_to_json(const BlockRows &rows) {
  // Not by the library of JSON: of 100,000 ranks its values take a hundred megabytes.
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  text.push_back('[');
  for (const auto &[number, offset, box, sum] : rows)
    fmt::format_to(out, "{}[{},{},{},{},{},{},\"{:016x}\"]", text.size() > 1 ? "," : "", box.start[2], box.start[1],
                   box.start[0], box.count[2], box.count[1], box.count[0], sum);
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
