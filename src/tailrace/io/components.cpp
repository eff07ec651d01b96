#include <tailrace/io/components.hpp>

#include <fmt/format.h>

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
  series.write([&] { return WriteRequest{name, type, data, place, components, region, put}; });
}

void read_components(const Series &series, std::size_t step, const std::string &name, Type type, const Box &box,
                     std::int64_t first, std::int64_t count, void *data) {
  series.read(step, [&] { return ReadRequest{name, type, box, data, count, first}; });
}

} // namespace tailrace::io
