#include <tailrace/io/hdf5/hdf5_options.hpp>

#include <tailrace/io/storage/shared_file.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/guarded_call.hpp>

#include <fmt/format.h>

namespace tailrace::io {

namespace {

/// Directions as letters: "xz".
std::array<bool, 3> directions_named(const std::string &text) {
  const std::string axes = "xyz";
  std::array<bool, 3> found{};
  for (const char letter : text == "false" ? "" : text) {
    const auto at = axes.find(letter);
    if (at == std::string::npos || found[at])
      throw InputError(
          fmt::format("parameter closing = '{}': expected the periodic directions, as 'xz', or in Python and "
                      "in a case true, with a grid that has boundaries",
                      text));
    found[at] = true;
  }
  return found;
}

} // namespace

Hdf5Options hdf5_options(Parameters &parameters) {
  Hdf5Options options;
  const std::string transfer = parameters.text("transfer", "", {"", "independent", "collective"});
  options.transfer = transfer_named(transfer);
  if (options.transfer == Transfer::collective) // otherwise no rank waits inside a library
    options.failure_timeout = static_cast<double>(parameters.number("failure_timeout", failure_timeout_default, 1));
  options.filters = take_filters(parameters);
  options.chunk_bytes = parameters.number("chunk_bytes", std::int64_t{1} << (options.filters.any() ? 20 : 30), 1);
  const std::string closing = parameters.text("closing", "-");
  options.closing_given = closing != "-";
  if (options.closing_given)
    options.closing = directions_named(closing);
  options.alignment = parameters.number("alignment", 0, 0);
  options.block_list = BlockList(parameters);
  parameters.finish("hdf5");
  if (options.filters.any() && !transfer.empty())
    throw InputError("transfer: it has no meaning with a compression, where rank 0 stores what the ranks compress");
  if (options.filters.any() && options.chunk_bytes > std::int64_t{1} << 30)
    throw InputError(fmt::format("chunk_bytes = {}: with a compression at most 1 GiB", options.chunk_bytes));
  return options;
}

} // namespace tailrace::io
