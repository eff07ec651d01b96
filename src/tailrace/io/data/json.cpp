#include <tailrace/io/data/json.hpp>

#include <limits>

namespace tailrace::io {

using nlohmann::json;

json attributes_to_json(const Attributes &attributes) {
  json object = json::object();
  for (const auto &[name, value] : attributes)
    object[name] = std::visit([](const auto &v) { return json(v); }, value);
  return object;
}

namespace {

Attribute from_json(const json &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_number_integer())
    return value.get<std::int64_t>();
  if (value.is_number())
    return value.get<double>();
  bool whole = true;
  for (const auto &item : value)
    whole = whole && item.is_number_integer();
  if (whole)
    return value.get<std::vector<std::int64_t>>();
  return value.get<std::vector<double>>();
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
    object[name] = std::visit([](const auto &value) { return json(value); }, scalar);
  return object;
}

Scalars scalars_from_json(const json &object) {
  Scalars scalars;
  for (const auto &[name, value] : object.items())
    if (value.is_string())
      scalars[name] = value.get<std::string>();
    else if (value.is_number_integer())
      scalars[name] = value.get<std::int64_t>();
    else
      scalars[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
  return scalars;
}

} // namespace tailrace::io
