#include <tailrace/io/components.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tailrace::io {

std::string component_name(const std::string &name, std::int64_t number) {
  return fmt::format("{}_{}", name, number + 1);
}

std::int64_t count_components(const Series &series, std::size_t step, const std::string &name) {
  std::set<std::string> names;
  for (const auto &variable : series.variables(step))
    if (!variable.list)
      names.insert(variable.name);
  std::int64_t count = 0;
  while (names.count(component_name(name, count)))
    ++count;
  return count;
}

void write_components(Series &series, const std::string &name, Type type, const void *data, const Placement &place,
                      std::int64_t components, Put put, const std::optional<Region> &region) {
  const Communicator &comm = series.communicator();
  // Ranks with another number of them would take part in another number of collective writes.
  const std::int64_t most = comm.max(components);
  comm.agree([&] {
    if (components < 1 || components != most)
      throw InputError(
          fmt::format("{}: '{}' has {} components on this rank and {} on another; expected the same number, "
                      "at least 1, on all ranks",
                      series.path(), name, components, most));
  });
  const auto *bytes = static_cast<const char *>(data);
  const auto size = static_cast<std::int64_t>(size_of(type)) * place.memory.size();
  for (std::int64_t c = 0; c < components; ++c) {
    const void *one = bytes ? bytes + c * size : nullptr;
    if (region)
      series.write_region(component_name(name, c), type, one, place, *region);
    else
      series.write(component_name(name, c), type, one, place, put);
  }
}

void read_components(const Series &series, std::size_t step, const std::string &name, Type type, const Box &box,
                     std::int64_t first, std::int64_t count, void *data) {
  const Communicator &comm = series.communicator();
  comm.agree([&] {
    const std::int64_t found = count_components(series, step, name);
    if (found == 0)
      series.variable(step, component_name(name, 0)); // throws, and names what is there
    if (first < 0 || count < 0 || first + count > found)
      throw InputError(fmt::format("{}: '{}' has {} components; {} from number {} on were asked for", series.path(),
                                   name, found, count, first));
  });
  auto *bytes = static_cast<char *>(data);
  const auto size = static_cast<std::int64_t>(size_of(type)) * box.size();
  const std::int64_t most = comm.max(count);
  for (std::int64_t c = 0; c < most; ++c) { // a rank that wants fewer takes part with empty boxes
    const bool wanted = c < count;
    series.read(step, component_name(name, wanted ? first + c : 0), type, wanted ? box : Box{},
                bytes && wanted ? bytes + c * size : nullptr);
  }
}

} // namespace tailrace::io
