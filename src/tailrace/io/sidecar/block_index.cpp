#include <tailrace/io/sidecar/block_index.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tailrace::io {

nlohmann::json block_to_json(const BlockRow &block) {
  const BlockNumbers numbers = numbers_of(block);
  return std::vector(numbers.begin(), numbers.end() - 1); // a line has the checksums apart
}

BlockRows blocks_in_line(const nlohmann::json &described) {
  BlockRows blocks;
  for (const auto &block : described.at("blocks").get_ref<const nlohmann::json::array_t &>()) {
    BlockNumbers numbers{};
    for (std::size_t at = 0; at + 1 < numbers.size(); ++at)
      numbers[at] = whole_number(block.at(at));
    blocks.push_back(block_of(numbers));
  }
  return blocks;
}

void check_block(const BlockRow &row, const VariableInfo &variable, std::int64_t numbers) {
  const Box &block = row.box;
  bool inside = row.number >= 0 && row.number < numbers && row.offset >= 0 && row.offset <= most_bytes;
  for (std::size_t d = 0; d < 3; ++d)
    inside = inside && block.start[d] >= 0 && block.count[d] >= 1 && block.count[d] <= variable.shape[d] &&
             block.start[d] <= variable.shape[d] - block.count[d];
  if (!inside)
    throw IoError(fmt::format("a block of {} has number {} of {}, offset {} and the points [z, y, x, nz, ny, nx] = "
                              "[{}, {}, {}, {}, {}, {}], which do not lie in its shape {}",
                              variable.name, row.number, numbers, row.offset, block.start[2], block.start[1],
                              block.start[0], block.count[2], block.count[1], block.count[0],
                              describe(variable.shape)));
}

void check_blocks(const nlohmann::json &described, const VariableInfo &variable, std::int64_t numbers) {
  for (const BlockRow &block : blocks_in_line(described))
    check_block(block, variable, numbers);
}

std::vector<StoredBlock> blocks_that_meet(const BlockRows &blocks, const VariableInfo &variable, const Box &box,
                                          const std::string &path) {
  std::vector<StoredBlock> result;
  std::int64_t found = 0;
  for (const BlockRow &block : blocks) {
    const Box part = block.box.intersect(box);
    if (part.empty())
      continue;
    result.push_back({block.number, block.offset, block.box, part});
    found += part.size();
  }
  if (found != box.size())
    throw IoError(fmt::format("cannot read {}: the blocks of {} hold {} points of {}; expected {}", path, variable.name,
                              found, describe(box), box.size()));
  std::stable_sort(result.begin(), result.end(),
                   [](const StoredBlock &a, const StoredBlock &b) { return a.number < b.number; });
  return result;
}

} // namespace tailrace::io
