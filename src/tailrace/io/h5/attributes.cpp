#include <tailrace/io/h5/h5.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tailrace::io::h5 {

namespace {

void write_attribute(hid_t where, const std::string &name, hid_t kind, const std::optional<hsize_t> &count,
                     const void *data) {
  if (check(H5Aexists(where, name.c_str()), "look for " + name) > 0)
    check(H5Adelete(where, name.c_str()), "replace attribute " + name);
  const Handle space(count ? H5Screate_simple(1, &*count, nullptr) : H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(
      check(H5Acreate2(where, name.c_str(), kind, space, H5P_DEFAULT, H5P_DEFAULT), "create attribute " + name),
      H5Aclose);
  check(H5Awrite(attribute, kind, data), "write attribute " + name);
}

template <class T> Attribute number_attribute(hid_t attribute, const Handle &space) {
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  check(H5Aread(attribute, native<T>(), values.data()), "read an attribute");
  if (H5Sget_simple_extent_type(space) == H5S_SCALAR)
    return values.at(0);
  return values;
}

std::size_t longest(const std::vector<std::string> &texts) {
  return std::ranges::max(texts, {}, &std::string::size).size();
}

/// Texts of fixed length, each filled up with NUL.
void write_texts(hid_t where, const std::string &name, const std::vector<std::string> &texts) {
  const Handle kind = fixed_string(longest(texts));
  const std::size_t size = H5Tget_size(kind);
  std::string packed(size * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i)
    packed.replace(i * size, texts[i].size(), texts[i]);
  write_attribute(where, name, kind, texts.size(), packed.data());
}

std::vector<std::string> read_texts(hid_t attribute, hid_t kind, const Handle &space, const std::string &name) {
  const std::size_t size = H5Tget_size(kind);
  std::string packed(size * static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)), '\0');
  check(H5Aread(attribute, kind, packed.data()), "read attribute " + name);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < packed.size(); at += size) {
    const std::string text = packed.substr(at, size);
    texts.push_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

std::optional<Attribute> read_attribute(hid_t where, const std::string &name) {
  const Handle attribute(check(H5Aopen(where, name.c_str(), H5P_DEFAULT), "open attribute " + name), H5Aclose);
  const Handle kind(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  switch (H5Tget_class(kind)) {
  case H5T_INTEGER:
    return number_attribute<std::int64_t>(attribute, space);
  case H5T_FLOAT:
    return number_attribute<double>(attribute, space);
  case H5T_STRING: {
    if (H5Tis_variable_str(kind) > 0)
      return std::nullopt; // not of a kind that we write
    std::vector<std::string> texts = read_texts(attribute, kind, space, name);
    if (H5Sget_simple_extent_type(space) == H5S_SCALAR)
      return texts.at(0);
    return texts;
  }
  default:
    return std::nullopt;
  }
}

} // namespace

void set_attribute(hid_t where, const std::string &name, const Attribute &value) {
  if (const auto *text = std::get_if<std::string>(&value))
    write_attribute(where, name, fixed_string(text->size()), std::nullopt, text->c_str());
  else if (const auto *whole = std::get_if<std::int64_t>(&value))
    write_attribute(where, name, H5T_NATIVE_INT64, std::nullopt, whole);
  else if (const auto *real = std::get_if<double>(&value))
    write_attribute(where, name, H5T_NATIVE_DOUBLE, std::nullopt, real);
  else if (const auto *wholes = std::get_if<std::vector<std::int64_t>>(&value))
    write_attribute(where, name, H5T_NATIVE_INT64, wholes->size(), wholes->data());
  else if (const auto *reals = std::get_if<std::vector<double>>(&value))
    write_attribute(where, name, H5T_NATIVE_DOUBLE, reals->size(), reals->data());
  else if (const auto *texts = std::get_if<std::vector<std::string>>(&value))
    write_texts(where, name, *texts);
}

Attributes attributes(hid_t where) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char *name, const H5A_info_t *, void *list) -> herr_t {
    static_cast<std::vector<std::string> *>(list)->push_back(name);
    return 0;
  };
  check(H5Aiterate2(where, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names), "list attributes");
  Attributes result;
  for (const auto &name : names)
    if (const auto value = read_attribute(where, name))
      result[name] = *value;
  return result;
}

template <class T> std::vector<T> numbers(hid_t where, const std::string &name, std::size_t least) {
  const Handle attribute(check(H5Aopen(where, name.c_str(), H5P_DEFAULT), "open attribute " + name), H5Aclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  if (values.size() < least)
    throw IoError(fmt::format("cannot read {}: it is damaged (its attribute {} has {} numbers; expected {})",
                              name_of(where), name, values.size(), least));
  check(H5Aread(attribute, native<T>(), values.data()), "read attribute " + name);
  return values;
}
template std::vector<double> numbers<double>(hid_t, const std::string &, std::size_t);
template std::vector<std::int64_t> numbers<std::int64_t>(hid_t, const std::string &, std::size_t);

} // namespace tailrace::io::h5
