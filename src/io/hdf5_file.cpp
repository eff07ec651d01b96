#include <tailrace/io/hdf5_file.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tailrace::io::h5 {

Handle &Handle::operator=(Handle &&other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

Handle::~Handle() { close(); }

herr_t Handle::close() {
  const hid_t id = std::exchange(id_, -1);
  return id >= 0 ? close_(id) : 0;
}

Quiet::Quiet() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

hid_t check(hid_t result, const std::string &what) {
  if (result >= 0)
    return result;
  std::string reason;
  // The innermost message says what really happened: "No space left on device", "truncated file".
  const auto innermost = [](unsigned depth, const H5E_error2_t *error, void *text) -> herr_t {
    if (depth == 0 && error->desc != nullptr)
      *static_cast<std::string *>(text) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  throw IoError(fmt::format("cannot {}: {}", what, reason.empty() ? "HDF5 gives no reason" : reason));
}

Handle access_list(std::int64_t alignment) {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
  H5Pset_file_locking(list, false, true);
  H5Pset_alignment(list, 1 << 20, static_cast<hsize_t>(alignment));
  // Objects of version 1.8 carry checksums, those of before do not. Those of 1.10 would refuse other programs the file
  // while a step is written.
  H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V18);
  return list;
}

namespace {

Handle space_of(hid_t data) { return {check(H5Dget_space(data), "read the shape of a dataset"), H5Sclose}; }

} // namespace

Handle open_file(const std::string &path) {
  const Handle list = access_list(1);
  return {check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list), "open " + path), H5Fclose};
}

bool exists(hid_t where, const std::string &path) {
  // H5Lexists wants every link on the way to exist.
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (H5Lexists(where, path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0)
      return false;
    if (slash == std::string::npos)
      return true;
  }
}

Handle group(hid_t where, const std::string &path) {
  if (exists(where, path))
    return {check(H5Gopen2(where, path.c_str(), H5P_DEFAULT), "open group " + path), H5Gclose};
  const Handle list(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(list, 1);
  return {check(H5Gcreate2(where, path.c_str(), list, H5P_DEFAULT, H5P_DEFAULT), "create group " + path), H5Gclose};
}

Handle dataset(hid_t where, const std::string &path) {
  return {check(H5Dopen2(where, path.c_str(), H5P_DEFAULT), "open dataset " + path), H5Dclose};
}

namespace {

/// Names of what `path` holds of one kind.
std::vector<std::string> members(hid_t where, const std::string &path, H5O_type_t kind) {
  std::vector<std::string> all, names;
  if (!exists(where, path))
    return names;
  const auto add = [](hid_t, const char *name, const H5L_info_t *, void *list) -> herr_t {
    static_cast<std::vector<std::string> *>(list)->push_back(name);
    return 0;
  };
  const Handle here = group(where, path);
  check(H5Literate(here, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &all), "list group " + path);
  for (const auto &name : all) {
    H5O_info_t info;
    check(H5Oget_info_by_name2(here, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT), "open " + path + "/" + name);
    if (info.type == kind)
      names.push_back(name);
  }
  return names;
}

} // namespace

std::vector<std::string> datasets(hid_t where, const std::string &path) {
  return members(where, path, H5O_TYPE_DATASET);
}

std::vector<std::string> groups(hid_t where, const std::string &path) { return members(where, path, H5O_TYPE_GROUP); }

void remove(hid_t where, const std::string &path) {
  check(H5Ldelete(where, path.c_str(), H5P_DEFAULT), "remove " + path);
}

std::vector<hsize_t> extent(hid_t data) {
  const Handle space = space_of(data);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space), "read a shape")));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  return sizes;
}

// ---- attributes ----

namespace {

Handle fixed_string(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(size, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

template <class T> hid_t native();
template <> hid_t native<double>() { return H5T_NATIVE_DOUBLE; }
template <> hid_t native<std::int64_t>() { return H5T_NATIVE_INT64; }

void write_attribute(hid_t where, const std::string &name, hid_t kind, const std::optional<hsize_t> &count,
                     const void *data) {
  if (H5Aexists(where, name.c_str()) > 0)
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
      return std::nullopt; // not ours
    std::string text(H5Tget_size(kind), '\0');
    check(H5Aread(attribute, kind, text.data()), "read attribute " + name);
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
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

template <class T> std::vector<T> numbers(hid_t where, const std::string &name) {
  const Handle attribute(check(H5Aopen(where, name.c_str(), H5P_DEFAULT), "open attribute " + name), H5Aclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  check(H5Aread(attribute, native<T>(), values.data()), "read attribute " + name);
  return values;
}
template std::vector<double> numbers<double>(hid_t, const std::string &);
template std::vector<std::int64_t> numbers<std::int64_t>(hid_t, const std::string &);

// ---- growing one-dimensional datasets ----

namespace {

Handle variable_string() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  return type;
}

/// The dataset at `path`, made when it is not there. Numbers that were never written read as NaN (or 0).
Handle growing(hid_t where, const std::string &path, hid_t kind) {
  if (exists(where, path))
    return dataset(where, path);
  const hsize_t none = 0, any = H5S_UNLIMITED, chunk = 256;
  const Handle space(H5Screate_simple(1, &none, &any), H5Sclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_chunk(creation, 1, &chunk);
  if (H5Tget_class(kind) != H5T_STRING)
    H5Pset_fletcher32(creation); // so that damaged values are an error for whoever reads them
  if (H5Tget_class(kind) == H5T_FLOAT) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &nan);
  }
  return {check(H5Dcreate2(where, path.c_str(), kind, space, links, creation, H5P_DEFAULT), "create dataset " + path),
          H5Dclose};
}

void put(hid_t where, const std::string &path, std::int64_t row, hid_t kind, const void *value) {
  const Handle data = growing(where, path, kind);
  const hsize_t at = static_cast<hsize_t>(row), one = 1, rows = at + 1;
  if (extent(data).at(0) < rows)
    check(H5Dset_extent(data, &rows), "extend dataset " + path);
  const Handle file = space_of(data), memory(H5Screate_simple(1, &one, nullptr), H5Sclose);
  H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, nullptr, &one, nullptr);
  check(H5Dwrite(data, kind, memory, file, H5P_DEFAULT, value), "write dataset " + path);
}

template <class T> std::vector<T> get(hid_t where, const std::string &path, std::int64_t rows) {
  if (!exists(where, path) || rows == 0)
    return {};
  const Handle data = dataset(where, path), file = space_of(data);
  const hsize_t begin = 0, count = static_cast<hsize_t>(rows);
  const auto sizes = extent(data);
  if (sizes.size() != 1 || sizes[0] < count)
    throw IoError(fmt::format("dataset {} is too short: expected {} values", path, rows));
  std::vector<T> values(count);
  const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
  H5Sselect_hyperslab(file, H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
  check(H5Dread(data, native<T>(), memory, file, H5P_DEFAULT, values.data()), "read dataset " + path);
  return values;
}

} // namespace

void put_row(hid_t where, const std::string &path, std::int64_t row, double value) {
  put(where, path, row, H5T_NATIVE_DOUBLE, &value);
}

void put_row(hid_t where, const std::string &path, std::int64_t row, std::int64_t value) {
  put(where, path, row, H5T_NATIVE_INT64, &value);
}

void put_row(hid_t where, const std::string &path, std::int64_t row, const std::string &value) {
  const char *text = value.c_str();
  put(where, path, row, variable_string(), &text);
}

H5T_class_t kind_of(hid_t where, const std::string &path) {
  return H5Tget_class(Handle(H5Dget_type(dataset(where, path)), H5Tclose));
}

void extend_rows(hid_t where, const std::string &path, std::int64_t rows) {
  const Handle data = dataset(where, path);
  const hsize_t size = static_cast<hsize_t>(rows);
  if (extent(data).at(0) < size)
    check(H5Dset_extent(data, &size), "extend dataset " + path);
}

void cut_rows(hid_t where, const std::string &path, std::int64_t rows) {
  const Handle data = dataset(where, path);
  const hsize_t size = static_cast<hsize_t>(rows);
  if (extent(data).at(0) > size)
    check(H5Dset_extent(data, &size), "shorten dataset " + path);
}

std::vector<double> doubles(hid_t where, const std::string &path, std::int64_t rows) {
  return get<double>(where, path, rows);
}

std::vector<std::int64_t> integers(hid_t where, const std::string &path, std::int64_t rows) {
  return get<std::int64_t>(where, path, rows);
}

std::pair<std::int64_t, std::int64_t> place_of(hid_t data) {
  const auto bytes = static_cast<std::int64_t>(H5Dget_storage_size(data));
  return {bytes > 0 ? static_cast<std::int64_t>(H5Dget_offset(data)) : 0, bytes};
}

void write_text(hid_t where, const std::string &path, const std::string &text) {
  const Handle kind = fixed_string(text.size()), space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Tset_cset(kind, H5T_CSET_UTF8);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const Handle data(
      check(H5Dcreate2(where, path.c_str(), kind, space, links, H5P_DEFAULT, H5P_DEFAULT), "create dataset " + path),
      H5Dclose);
  check(H5Dwrite(data, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.c_str()), "write dataset " + path);
}

std::string read_text(hid_t where, const std::string &path) {
  const Handle data = dataset(where, path), kind(H5Dget_type(data), H5Tclose), space = space_of(data);
  if (H5Tget_class(kind) != H5T_STRING || H5Tis_variable_str(kind) > 0 || H5Sget_simple_extent_npoints(space) != 1)
    throw IoError("dataset " + path + " holds no text");
  std::string text(H5Tget_size(kind), '\0');
  check(H5Dread(data, kind, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "read dataset " + path);
  return text;
}

hid_t type(Type type) {
  switch (type) {
  case Type::float32:
    return H5T_IEEE_F32LE;
  case Type::int32:
    return H5T_STD_I32LE;
  case Type::int64:
    return H5T_STD_I64LE;
  default:
    return H5T_IEEE_F64LE;
  }
}

Type type_of(hid_t data) {
  const Handle kind(H5Dget_type(data), H5Tclose);
  const std::size_t size = H5Tget_size(kind);
  const H5T_class_t family = H5Tget_class(kind);
  if ((family != H5T_FLOAT && family != H5T_INTEGER) || (size != 4 && size != 8))
    throw IoError("a dataset holds neither float32, float64, int32 nor int64");
  if (family == H5T_FLOAT)
    return size == 4 ? Type::float32 : Type::float64;
  return size == 4 ? Type::int32 : Type::int64;
}

} // namespace tailrace::io::h5
