// Series of the engine hdf5 whose contents are odd, in files that HDF5 itself finds sound. Each file of an input is one
// change of a sound series: its name is a letter, what to do, and a path with '-' for '/'.

#include "files.hpp"
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace tailrace;
using namespace tailrace::io;

namespace {

constexpr std::size_t most_numbers = 64; // of an attribute or a dataset

template <class T> std::vector<T> numbers_of(const std::string &bytes) {
  std::vector<T> numbers(std::min(bytes.size() / sizeof(T), most_numbers));
  if (!numbers.empty())
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

void begin(Series &out, std::int64_t index) {
  const std::vector<double> values(60, 0.5);
  out.begin_step(index, 0.25 * static_cast<double>(index));
  const Box box{{0, 0, 0}, {4, 3, 5}};
  out.write("u", values.data(), {box.count, box, box});
  out.write_list("rows", values.data(), 7, 2);
  out.write_scalar("energy", 0.5);
  out.write_scalar("count", std::int64_t{3});
  out.end_step();
}

/// The bytes of a sound file.
const std::string &sound() {
  static const std::string bytes = [] {
    const fuzz::Folder folder({});
    Options options;
    options.grid = GridDescription{{4, 3, 5}, {0, 0, 0}, {1, 1, 1}, {{{}, {0, 0.25, 1}, {}}}};
    Series out(folder.path("x.h5"), Mode::write, Communicator(MPI_COMM_SELF), options);
    out.set_attribute("title", "a sound series");
    begin(out, 1);
    begin(out, 3);
    out.close();
    return read_file(folder.path("x.h5"));
  }();
  return bytes;
}

/// Replaces the attribute or the dataset at `path` by another one, of any size and type.
void replace(hid_t file, char kind, const std::string &path, const std::string &bytes) {
  const auto slash = path.rfind('/');
  const std::string parent = slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const bool attribute = kind == 'A' || kind == 'B' || kind == 'T';
  if (attribute && h5::exists(file, parent)) {
    const h5::Handle where(H5Oopen(file, parent.c_str(), H5P_DEFAULT), H5Oclose);
    if (H5Aexists(where, name.c_str()) > 0)
      H5Adelete(where, name.c_str());
    h5::set_attribute(where, name,
                      kind == 'T'   ? Attribute(bytes)
                      : kind == 'A' ? Attribute(numbers_of<std::int64_t>(bytes))
                                    : Attribute(numbers_of<double>(bytes)));
    return;
  }
  if (kind == 'e' && h5::exists(file, path)) {
    const h5::Handle data = h5::dataset(file, path);
    auto extent = h5::extent(data);
    const auto wanted = numbers_of<hsize_t>(bytes);
    for (std::size_t d = 0; d < std::min(extent.size(), wanted.size()); ++d)
      extent[d] = wanted[d] % 100;
    H5Dset_extent(data, extent.data());
    return;
  }
  if (h5::exists(file, path))
    h5::remove(file, path);
  if (kind == 't')
    h5::write_text(file, path,
                   bytes.starts_with('{') ? fmt::format("[\"{}\",{}]", fuzz::checksum(bytes), bytes) : bytes);
  std::int64_t row = 0;
  if (kind == 'i')
    for (const auto number : numbers_of<std::int64_t>(bytes))
      h5::put_row(file, path, row++, number);
  if (kind == 'f')
    for (const auto number : numbers_of<double>(bytes))
      h5::put_row(file, path, row++, number);
}

void make(const std::string &path, const std::vector<fuzz::File> &changes) {
  replace_file(path, sound(), false);
  const h5::Quiet quiet;
  const h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  for (const auto &change : changes)
    try {
      std::string where = change.name.empty() ? "" : change.name.substr(1);
      std::ranges::replace(where, '-', '/');
      if (!where.empty())
        replace(file, change.name[0], where, change.bytes);
    } catch (const Error &) {
    }
}

void read_all(const std::string &path) {
  Series series(path, Mode::read, Communicator(MPI_COMM_SELF));
  series.grid();
  series.attributes();
  series.damage();
  std::vector<double> values(fuzz::most_values);
  for (std::size_t step = 0; step < std::min<std::size_t>(series.steps().size(), 8); ++step)
    try {
      series.scalars(step);
      series.unchecked(step);
      for (const auto &variable : series.variables(step))
        if (product(variable.shape) <= fuzz::most_values)
          series.read(step, variable.name, is_integer(variable.type) ? variable.type : Type::float64,
                      {{0, 0, 0}, variable.shape}, values.data());
      series.verify(step);
    } catch (const Error &) {
    }
}

void append(const std::string &path) {
  Options options;
  options.rewind_to = 1;
  Series series(path, Mode::append, Communicator(MPI_COMM_SELF), options);
  begin(series, series.last_index().value_or(0) + 1);
  series.close();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  sound(); // it has the folder of the same name for itself
  const fuzz::Folder folder({});
  const std::string path = folder.path("x.h5");
  make(path, fuzz::unpack(data, size));
  try {
    read_all(path);
  } catch (const Error &) {
  }
  try {
    if (size % 4 == 0) // it takes longer
      append(path);
  } catch (const Error &) {
  }
  return 0;
}
