// Growing one-dimensional datasets.

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <limits>

namespace tailrace::io::h5 {

namespace {

Handle variable_string() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  return type;
}

/// The dataset at `path`, created if necessary. Numbers that were never written read as NaN (or 0).
Handle growing(hid_t where, const std::string &path, hid_t kind) {
  if (exists(where, path))
    return dataset(where, path);
  const hsize_t none = 0, any = H5S_UNLIMITED, chunk = 256;
  const Handle space(H5Screate_simple(1, &none, &any), H5Sclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_chunk(creation, 1, &chunk);
  if (H5Tget_class(kind) != H5T_STRING)
    H5Pset_fletcher32(creation); // so that reading damaged values is an error
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

} // namespace tailrace::io::h5
