#include <tailrace/io/sidecar/block_index.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tailrace::io {

namespace {

/// The blocks of a variable that is stored block by block, as the sidecar lists them: the number of the file or stream,
/// the offset in bytes, and the block as z, y, x, nz, ny, nx.
std::vector<std::array<std::int64_t, 8>> blocks_of(const nlohmann::json &described) {
  std::vector<std::array<std::int64_t, 8>> result;
  for (const auto &block : described.at("blocks").get_ref<const nlohmann::json::array_t &>()) {
    auto &numbers = result.emplace_back();
    for (std::size_t at = 0; at < numbers.size(); ++at)
      numbers[at] = whole_number(block.at(at));
  }
  return result;
}

} // namespace

void check_blocks(const nlohmann::json &described, const VariableInfo &variable, std::int64_t numbers) {
  for (const auto &n : blocks_of(described)) {
    const Box block{{n[4], n[3], n[2]}, {n[7], n[6], n[5]}};
    bool inside = n[0] >= 0 && n[0] < numbers && n[1] >= 0 && n[1] <= most_bytes;
    for (std::size_t d = 0; d < 3; ++d)
      inside = inside && block.start[d] >= 0 && block.count[d] >= 1 && block.count[d] <= variable.shape[d] &&
               block.start[d] <= variable.shape[d] - block.count[d];
    if (!inside)
      throw IoError(fmt::format("a block of {} has number {} of {}, offset {} and the points [z, y, x, nz, ny, nx] = "
                                "[{}], which do not lie in its shape {}",
                                variable.name, n[0], numbers, n[1], fmt::join(n.begin() + 2, n.end(), ", "),
                                describe(variable.shape)));
  }
}

std::vector<StoredBlock> blocks_that_meet(const nlohmann::json &described, const VariableInfo &variable, const Box &box,
                                          const std::string &path) {
  std::vector<StoredBlock> result;
  std::int64_t found = 0;
  for (const auto &n : blocks_of(described)) {
    const Box block{{n[4], n[3], n[2]}, {n[7], n[6], n[5]}};
    const Box part = block.intersect(box);
    if (part.empty())
      continue;
    result.push_back({n[0], n[1], block, part});
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
