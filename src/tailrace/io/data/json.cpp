#include <tailrace/io/data/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr int most_nested = 64;

/// An error like those of the library.
struct Refused final : json::exception {
  explicit Refused(const std::string &why) : json::exception(600, why.c_str()) {}
};

} // namespace

json parse_json(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at)
    switch (text[at]) {
    case '\\':
      at += quoted;
      break;
    case '"':
      quoted = !quoted;
      break;
    case '[':
    case '{':
      if (!quoted && ++depth > most_nested)
        throw Refused("it is nested deeper than 64 times");
      break;
    case ']':
    case '}':
      depth -= !quoted;
      break;
    default:
      break;
    }
  return json::parse(text);
}

std::string valid_json_text(const json &value) { return value.dump(); }

std::string json_text(const json &value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::int64_t whole_number(const json &value) {
  const bool fits = !value.is_number_unsigned() || std::in_range<std::int64_t>(value.get<std::uint64_t>());
  if (!value.is_number_integer() || !fits)
    throw Refused(fmt::format("expected a whole number below 2^63, found {}",
                              value.is_number() ? value.dump() : value.type_name()));
  return value.get<std::int64_t>();
}

std::map<std::string, std::uintmax_t> sizes_from_json(const json &object) {
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto &[name, value] : object.items()) {
    const std::int64_t size = whole_number(value);
    if (size < 0)
      throw Refused(fmt::format("expected a size in bytes, found {}", size));
    sizes[name] = static_cast<std::uintmax_t>(size);
  }
  return sizes;
}

Index3 index3_from_json(const json &values) {
  return {whole_number(values.at(2)), whole_number(values.at(1)), whole_number(values.at(0))};
}

namespace {

// JSON has no numbers that are infinite or not a number: they are objects with the name of the number.
json plain(double value) {
  if (std::isfinite(value))
    return value;
  return {{"real", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

json plain(const std::vector<double> &values) {
  json list = json::array();
  for (const double value : values)
    list.push_back(plain(value));
  return list;
}

template <class T> json plain(const T &value) { return value; }

bool is_real(const json &value) { return value.is_number() || value.is_null() || value.is_object(); }

/// A number; null, which stands for every such number in older files, is none.
double real(const json &value) {
  if (value.is_number())
    return value.get<double>();
  const std::string name = value.is_null() ? "nan" : value.at("real").get<std::string>();
  const double infinite = std::numeric_limits<double>::infinity();
  return name == "inf" ? infinite : name == "-inf" ? -infinite : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

json attributes_to_json(const Attributes &attributes) {
  json object = json::object();
  for (const auto &[name, value] : attributes)
    object[name] = std::visit([](const auto &v) { return plain(v); }, value);
  return object;
}

namespace {

Attribute from_json(const json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_number_integer())
    return whole_number(value);
  if (is_real(value))
    return real(value);
  if (!value.empty() && value.front().is_string())
    return value.get<std::vector<std::string>>();
  if (std::all_of(value.begin(), value.end(), [](const json &item) { return item.is_number_integer(); })) {
    std::vector<std::int64_t> numbers;
    for (const auto &item : value)
      numbers.push_back(whole_number(item));
    return numbers;
  }
  std::vector<double> reals;
  for (const auto &item : value)
    reals.push_back(real(item));
  return reals;
}

} // namespace

Attributes attributes_from_json(const json &object) {
  Attributes attributes;
  for (const auto &[name, value] : object.items())
    attributes[name] = from_json(value);
  return attributes;
}

json scalars_to_json(const Scalars &scalars) {
  json object = json::object();
  for (const auto &[name, scalar] : scalars)
    object[name] = std::visit([](const auto &value) { return plain(value); }, scalar);
  return object;
}

Scalars scalars_from_json(const json &object) {
  Scalars scalars;
  for (const auto &[name, value] : object.items())
    if (value.is_string())
      scalars[name] = value.get<std::string>();
    else if (value.is_number_integer())
      scalars[name] = whole_number(value);
    else
      scalars[name] = real(value);
  return scalars;
}

json grid_to_json(const GridDescription &grid) {
  const auto reversed = [](const auto &three) { return json{three[2], three[1], three[0]}; };
  json object{
      {"points", reversed(grid.points)}, {"origin", reversed(grid.origin)}, {"spacing", reversed(grid.spacing)}};
  if (grid.stretched()) // a uniform grid stores no coordinates
    object["coordinates"] = reversed(grid.coordinates);
  return object;
}

GridDescription grid_from_json(const json &object) {
  GridDescription grid;
  grid.points = index3_from_json(object.at("points"));
  for (std::size_t d = 0; d < 3; ++d) {
    grid.origin[d] = object.at("origin").at(2 - d);
    grid.spacing[d] = object.at("spacing").at(2 - d);
    if (object.contains("coordinates"))
      grid.coordinates[d] = object.at("coordinates").at(2 - d).get<std::vector<double>>();
  }
  return grid;
}

json lists_to_json(const std::vector<VariableInfo> &lists) {
  json object = json::object();
  for (const VariableInfo &list : lists)
    object[list.name] = {{"type", name_of(list.type)}, {"columns", list.shape[0]}, {"rows", list.shape[1]}};
  return object;
}

std::vector<VariableInfo> lists_from_json(const json &object) {
  std::vector<VariableInfo> lists;
  for (const auto &[name, list] : object.items())
    lists.push_back({name,
                     type_named(list.at("type")),
                     {whole_number(list.at("columns")), whole_number(list.at("rows")), 1},
                     true});
  return lists;
}

} // namespace tailrace::io
