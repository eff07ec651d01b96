#include <tailrace/io/sidecar/block_index.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace tailrace::io {

std::vector<StoredBlock> blocks_that_meet(const nlohmann::json &described, const VariableInfo &variable, const Box &box,
                                          const std::string &path) {
  std::vector<StoredBlock> result;
  std::int64_t found = 0;
  for (const auto &n : described.at("blocks").get<StoredNumbers>()) {
    const Box block{{n[4], n[3], n[2]}, {n[7], n[6], n[5]}};
    for (std::size_t d = 0; d < 3; ++d)
      if (block.start[d] < 0 || block.count[d] < 1 || block.count[d] > variable.shape[d] - block.start[d] || n[0] < 0 ||
          n[1] < 0)
        throw IoError(fmt::format("cannot read {}: its block {} (number {}, offset {}) is outside {} of shape {}", path,
                                  describe(block), n[0], n[1], variable.name, describe(variable.shape)));
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
