#pragma once

#include <tailrace/io/types.hpp>

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// The part of HDF5's C interface that the hdf5 engine needs, with owning handles and exceptions. Everything is local
/// and serial.
namespace tailrace::io::h5 {

/// What HDF5 tells of an object by the functions that all versions have (H5Oget_info_by_name2, H5Ovisit2).
#if H5_VERSION_GE(1, 12, 0)
using ObjectInfo = H5O_info1_t;
#else
using ObjectInfo = H5O_info_t;
#endif

/// An HDF5 identifier that closes itself.
class Handle {
public:
  Handle() = default;
  Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Handle(Handle &&other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle &operator=(Handle &&other) noexcept;
  ~Handle();
  operator hid_t() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now and returns whether that worked.
  herr_t close();

private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Keeps HDF5 from printing errors while the object lives; we report them ourselves.
class Quiet {
public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

private:
  H5E_auto2_t function_ = nullptr;
  void *data_ = nullptr;
};

/// As Quiet, and keeps the cause of the first call of HDF5 that fails meanwhile: for libraries that do not look at what
/// HDF5 returns. Wrong arguments do not count: ADIOS2 asks for chunks of values that have none, and does without.
class Failures {
public:
  Failures();
  ~Failures();
  Failures(const Failures &) = delete;
  Failures &operator=(const Failures &) = delete;
  /// Throws IoError "cannot <what>: <the cause>" if a call has failed.
  void check(const std::string &what) const;

private:
  H5E_auto2_t function_ = nullptr;
  void *data_ = nullptr;
  std::string first_;
};

/// A number of points or a place as HDF5 counts it.
inline hsize_t hsize(std::int64_t value) { return static_cast<hsize_t>(value); }

/// Throws IoError "cannot <what>: <HDF5's own reason>" when `result` is negative, and returns it otherwise.
hid_t check(hid_t result, const std::string &what);

/// How our files are opened: without HDF5's locks, because a reader must never make a running simulation fail. Objects
/// of 1 MiB and more begin at multiples of `alignment` bytes. With 0, those of 32 MiB and more begin at multiples of 2
/// MiB.
Handle access_list(std::int64_t alignment);

std::string name_of(hid_t file); ///< its path

bool exists(hid_t where, const std::string &path);
Handle group(hid_t where, const std::string &path); ///< opened, or created with its parents
Handle dataset(hid_t where, const std::string &path, hid_t access = H5P_DEFAULT);
std::vector<std::string> datasets(hid_t where, const std::string &group); ///< names; empty when there is no such group
std::vector<std::string> groups(hid_t where, const std::string &group);
void remove(hid_t where, const std::string &path); ///< the link, and the object when this was its last link
std::vector<hsize_t> extent(hid_t dataset);
Handle space_of(hid_t dataset);
/// First byte and size of a contiguous dataset.
std::pair<std::int64_t, std::int64_t> place_of(hid_t dataset);

// ---- attributes: attributes.cpp ----

void set_attribute(hid_t where, const std::string &name, const Attribute &value);
Attributes attributes(hid_t where); ///< of the kinds that we write
/// Those of one attribute. Throws IoError where there are fewer than `least`.
template <class T> std::vector<T> numbers(hid_t where, const std::string &name, std::size_t least);

// ---- growing one-dimensional datasets: rows.cpp ----

/// Writes element `row` of a growing one-dimensional dataset, which is created if necessary.
void put_row(hid_t where, const std::string &path, std::int64_t row, double value);
void put_row(hid_t where, const std::string &path, std::int64_t row, std::int64_t value);
void put_row(hid_t where, const std::string &path, std::int64_t row, const std::string &value);
/// Whether such a dataset holds numbers of either type, or texts.
H5T_class_t kind_of(hid_t where, const std::string &path);
/// Extends such a dataset to `rows` elements if it is shorter.
void extend_rows(hid_t where, const std::string &path, std::int64_t rows);
/// Cuts such a dataset to `rows`.
void cut_rows(hid_t where, const std::string &path, std::int64_t rows);
/// The first `rows` elements, or an empty vector when there is no such dataset.
std::vector<double> doubles(hid_t where, const std::string &path, std::int64_t rows);
std::vector<std::int64_t> integers(hid_t where, const std::string &path, std::int64_t rows);

// ---- texts and types ----

/// A text as a dataset; a new one is created with its parents.
void write_text(hid_t where, const std::string &path, const std::string &text);
std::string read_text(hid_t where, const std::string &path);

Handle fixed_string(std::size_t size); ///< the type of texts of so many bytes
template <class T> hid_t native();     ///< that of a double or std::int64_t in memory
template <> hid_t native<double>();
template <> hid_t native<std::int64_t>();
hid_t type(Type type);       ///< not to be closed
Type type_of(hid_t dataset); ///< throws IoError for any other number type

} // namespace tailrace::io::h5
