#include <tailrace/io/adios2_attributes.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <algorithm>
#include <string>

namespace tailrace::io {

namespace {

const std::string attribute_prefix = "tailrace/attributes/", grid_prefix = "tailrace/grid/";

// Attributes may be set anew, so all are modifiable.
template <class T> void define(adios2::IO &io, const std::string &name, const T &value) {
  io.DefineAttribute<T>(name, value, "", "/", true);
}
template <class T> void define(adios2::IO &io, const std::string &name, const std::vector<T> &values) {
  io.DefineAttribute<T>(name, values.data(), values.size(), "", "/", true);
}

template <class T> Attribute number(adios2::IO &io, const std::string &name) {
  const auto attribute = io.InquireAttribute<T>(name);
  const std::vector<T> data = attribute.Data();
  return attribute.IsValue() ? Attribute(data.at(0)) : Attribute(data);
}

std::optional<Attribute> read_one(adios2::IO &io, const std::string &name) {
  const std::string type = io.AttributeType(name);
  if (type == "string")
    return io.InquireAttribute<std::string>(name).Data().at(0);
  if (type == "int64_t")
    return number<std::int64_t>(io, name);
  if (type == "double")
    return number<double>(io, name);
  return std::nullopt;
}

} // namespace

void write_attributes(adios2::IO &io, const Attributes &attributes) {
  for (const auto &[name, value] : attributes)
    std::visit([&, &key = name](const auto &v) { define(io, attribute_prefix + key, v); }, value);
}

Attributes read_attributes(adios2::IO &io) {
  Attributes result;
  for (const auto &[name, about] : io.AvailableAttributes())
    if (name.rfind(attribute_prefix, 0) == 0)
      if (const auto value = read_one(io, name))
        result[name.substr(attribute_prefix.size())] = *value;
  return result;
}

void write_grid(adios2::IO &io, const GridDescription &grid) {
  define(io, grid_prefix + "points", std::vector<std::int64_t>(grid.points.begin(), grid.points.end()));
  define(io, grid_prefix + "origin", std::vector<double>(grid.origin.begin(), grid.origin.end()));
  define(io, grid_prefix + "spacing", std::vector<double>(grid.spacing.begin(), grid.spacing.end()));
}

std::optional<GridDescription> read_grid(adios2::IO &io) {
  if (!io.InquireAttribute<std::int64_t>(grid_prefix + "points"))
    return std::nullopt;
  GridDescription grid;
  std::ranges::copy(io.InquireAttribute<std::int64_t>(grid_prefix + "points").Data(), grid.points.begin());
  std::ranges::copy(io.InquireAttribute<double>(grid_prefix + "origin").Data(), grid.origin.begin());
  std::ranges::copy(io.InquireAttribute<double>(grid_prefix + "spacing").Data(), grid.spacing.begin());
  return grid;
}

} // namespace tailrace::io

#endif
