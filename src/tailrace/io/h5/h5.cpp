#include <tailrace/io/h5/h5.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
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

namespace {

struct Cause {
  hid_t kind = -1; ///< HDF5's major number
  std::string text = "HDF5 gives no reason";
};

/// The innermost message of a stack of errors gives the cause: "No space left on device", "truncated file".
Cause cause(hid_t stack) {
  Cause found;
  const auto innermost = [](unsigned depth, const H5E_error2_t *error, void *place) -> herr_t {
    auto &result = *static_cast<Cause *>(place);
    if (depth == 0)
      result.kind = error->maj_num;
    if (depth == 0 && error->desc != nullptr)
      result.text = error->desc;
    return 0;
  };
  H5Ewalk2(stack, H5E_WALK_UPWARD, innermost, &found);
  return found;
}

} // namespace

Failures::Failures() {
  const auto keep = [](hid_t stack, void *self) -> herr_t {
    std::string &first = static_cast<Failures *>(self)->first_;
    const Cause now = cause(stack);
    if (first.empty() && now.kind != H5E_DATASET && now.kind != H5E_ARGS)
      first = now.text;
    return 0;
  };
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, keep, this);
}

Failures::~Failures() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

void Failures::check(const std::string &what) const {
  if (first_.empty())
    return;
  const bool locks = first_.find("lock") != std::string::npos && first_.find("block") == std::string::npos;
  throw IoError(
      fmt::format("cannot {}: {}{}", what, first_,
                  locks ? "; to fix this where the file system has no locks, set HDF5_USE_FILE_LOCKING=FALSE" : ""));
}

hid_t check(hid_t result, const std::string &what) {
  if (result >= 0)
    return result;
  const std::string reason = cause(H5E_DEFAULT).text;
  H5Eclear2(H5E_DEFAULT);
  throw IoError(fmt::format("cannot {}: {}", what, reason));
}

Handle access_list(std::int64_t alignment) {
  Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
  H5Pset_file_locking(list, false, true);
  if (alignment == 0)
    H5Pset_alignment(list, large_chunk_bytes, large_chunk_alignment);
  else
    H5Pset_alignment(list, 1 << 20, static_cast<hsize_t>(alignment));
  // Objects of version 1.8 carry checksums, older ones do not. With those of 1.10, other programs could not open the
  // file while a step is written: they are allowed for virtual datasets, which 1.8 does not have.
  H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V110);
  return list;
}

Handle space_of(hid_t data) { return {check(H5Dget_space(data), "read the shape of a dataset"), H5Sclose}; }

Handle fixed_string(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(size, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

template <> hid_t native<double>() { return H5T_NATIVE_DOUBLE; }
template <> hid_t native<std::int64_t>() { return H5T_NATIVE_INT64; }

std::string name_of(hid_t file) {
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(0, H5Fget_name(file, nullptr, 0))), '\0');
  H5Fget_name(file, name.data(), name.size() + 1);
  return name;
}

bool exists(hid_t where, const std::string &path) {
  // H5Lexists fails unless every link on the path exists.
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (check(H5Lexists(where, part.c_str(), H5P_DEFAULT), "look for " + part) == 0)
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

Handle dataset(hid_t where, const std::string &path, hid_t access) {
  return {check(H5Dopen2(where, path.c_str(), access), "open dataset " + path), H5Dclose};
}

namespace {

/// Names of the objects of one kind in `path`.
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
    ObjectInfo info;
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

namespace {

hid_t half_precision() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t truth_value() {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  const std::int8_t no = 0, yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  return type;
}

hid_t complex_number(hid_t part) {
  const std::size_t size = H5Tget_size(part);
  const hid_t type = H5Tcreate(H5T_COMPOUND, 2 * size);
  H5Tinsert(type, "r", 0, part);
  H5Tinsert(type, "i", size, part);
  return type;
}

} // namespace

// HDF5 has no types of its own for truth values, complex numbers and half precision: these are h5py's. They exist until
// the program ends.
hid_t type(Type type) {
  static const std::vector<hid_t> all = [] {
    std::vector<hid_t> made(all_types().size());
    const auto set = [&](Type one, hid_t as) { made[static_cast<std::size_t>(one)] = as; };
    set(Type::float16, half_precision());
    set(Type::float32, H5T_IEEE_F32LE);
    set(Type::float64, H5T_IEEE_F64LE);
    set(Type::int8, H5T_STD_I8LE);
    set(Type::int16, H5T_STD_I16LE);
    set(Type::int32, H5T_STD_I32LE);
    set(Type::int64, H5T_STD_I64LE);
    set(Type::uint8, H5T_STD_U8LE);
    set(Type::uint16, H5T_STD_U16LE);
    set(Type::uint32, H5T_STD_U32LE);
    set(Type::uint64, H5T_STD_U64LE);
    set(Type::boolean, truth_value());
    set(Type::complex64, complex_number(H5T_IEEE_F32LE));
    set(Type::complex128, complex_number(H5T_IEEE_F64LE));
    return made;
  }();
  return all[static_cast<std::size_t>(type)];
}

Type type_of(hid_t data) {
  const Handle kind(H5Dget_type(data), H5Tclose);
  const H5T_class_t family = H5Tget_class(kind);
  for (const TypeTraits &one : all_types()) {
    if (family == H5T_INTEGER || family == H5T_FLOAT) { // of other programs also in another byte order
      const hid_t ours = type(one.type);
      if (H5Tget_class(ours) == family && H5Tget_size(kind) == one.bytes &&
          (family == H5T_FLOAT || H5Tget_sign(kind) == H5Tget_sign(ours)))
        return one.type;
    } else if (H5Tequal(kind, type(one.type)) > 0) {
      return one.type;
    }
  }
  throw IoError("a dataset holds none of our types of numbers");
}

} // namespace tailrace::io::h5
