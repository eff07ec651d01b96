// The texts of JSON that describe a series, whichever file they are in.

#include "files.hpp"
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/sst/network/contact_file.hpp>
#include <tailrace/support/error.hpp>

#include <limits>

using namespace tailrace;
using namespace tailrace::io;

namespace {

/// What was written and is read again must be written alike.
void same(const nlohmann::json &once, const nlohmann::json &again) {
  if (json_text(once) != json_text(again))
    __builtin_trap();
}

void read_text(const std::string &name, const std::string &text) {
  const auto value = parse_json(text);
  json_text(value);
  if (name == "attributes") {
    const auto written = attributes_to_json(attributes_from_json(value));
    same(written, attributes_to_json(attributes_from_json(written)));
  } else if (name == "scalars") {
    const auto written = scalars_to_json(scalars_from_json(value));
    same(written, scalars_to_json(scalars_from_json(written)));
  } else if (name == "grid") {
    const auto grid = grid_from_json(value);
    check_grid(grid);
    same(grid_to_json(grid), grid_to_json(grid_from_json(grid_to_json(grid))));
  } else if (name == "lists") {
    for (const auto &list : lists_from_json(value))
      check_shape(list.name, list.shape, true);
  } else if (name == "blocks") {
    const VariableInfo variable{"u", Type::float64, {5, 4, 3}};
    check_blocks(value, variable, std::numeric_limits<std::int32_t>::max());
    blocks_that_meet(blocks_in_line(value), variable, {{1, 1, 1}, {3, 2, 1}}, "series.jsonl");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto files = fuzz::unpack(data, size);
  for (const auto &file : files)
    try {
      read_text(file.name, file.bytes);
    } catch (const nlohmann::json::exception &) {
    } catch (const Error &) {
    }
  const fuzz::Folder folder(files);
  const ContactFile contact(folder.path("x"));
  contact.alive();
  contact.why_not();
  contact.record();
  return 0;
}
