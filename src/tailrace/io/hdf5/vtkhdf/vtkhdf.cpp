#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/hdf5/journal/journaled_driver.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tailrace::io::vtkhdf {

namespace {

constexpr std::int64_t version = 2;
constexpr std::int64_t largest_chunk = (std::int64_t{1} << 32) - 1; // HDF5's limit
const std::string id_path = "/Tailrace/id", rewound_name = "rewound", attributes_path = "/Tailrace/attributes",
                  coordinates_path = "/Tailrace/coordinates/", closing_name = "closing";
const std::string cell_group = "/VTKHDF/CellData", other_group = "/Fields";

using h5::hsize;

std::string group_for(const VariableInfo &info, const Contents &contents) {
  if (!is_drawn(info.type)) // VTK opens no file with such an array
    return other_group;
  const Index3 &shape = info.shape;
  const auto &[x, y, z] = contents.closing;
  const Index3 &points = contents.grid->points;
  const Index3 cells{points[0] - !x, points[1] - !y, points[2] - !z};
  if (shape == points)
    return draws_views(contents) ? other_group : point_group;
  return shape == cells ? cell_group : other_group;
}

Closing read_closing(hid_t file) {
  Closing closing{};
  if (!h5::exists(file, own_path))
    return closing;
  const h5::Handle own = h5::group(file, own_path);
  if (h5::check(H5Aexists(own, closing_name.c_str()), "look for " + closing_name) > 0) {
    const auto stored = h5::numbers<std::int64_t>(own, closing_name, 3);
    for (std::size_t d = 0; d < 3; ++d)
      closing[d] = stored[d] != 0;
  }
  return closing;
}

/// The direction of each axis of the image, of which we turn those of planes and lines.
std::array<std::size_t, 3> stored_axes(hid_t vtk) {
  std::array<std::size_t, 3> axes{0, 1, 2};
  if (!h5::exists(vtk, own_path)) // of another program, whose arrays are in the order of its axes
    return axes;
  const auto direction = h5::numbers<double>(vtk, "Direction", 9);
  std::array<bool, 3> met{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t d = 0; d < 3; ++d)
      if (std::abs(direction[3 * d + axis]) == 1) {
        axes[axis] = d;
        met[d] = true;
      }
  if (!(met[0] && met[1] && met[2]))
    throw IoError(fmt::format("cannot read {}: it is damaged (the Direction of /VTKHDF turns no axis into another)",
                              h5::name_of(vtk)));
  return axes;
}

std::optional<GridDescription> read_grid(hid_t vtk, const Closing &closing) {
  if (h5::check(H5Aexists(vtk, "WholeExtent"), "look for WholeExtent") == 0)
    return std::nullopt;
  const auto whole = h5::numbers<std::int64_t>(vtk, "WholeExtent", 6);
  const auto origin = h5::numbers<double>(vtk, "Origin", 3), spacing = h5::numbers<double>(vtk, "Spacing", 3);
  GridDescription grid;
  const auto axes = stored_axes(vtk);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t d = axes[axis];
    const std::int64_t first = whole[2 * axis], last = whole[2 * axis + 1];
    std::int64_t steps = 0; // from point to point
    if (__builtin_sub_overflow(last, first, &steps) || steps < closing[d] || steps > most_bytes)
      throw IoError(fmt::format("cannot read {}: it is damaged (the WholeExtent of /VTKHDF goes from {} to {} in "
                                "{}; expected at least {} and at most 2^60 points)",
                                h5::name_of(vtk), first, last, "xyz"[d], 1 + closing[d]));
    grid.points[d] = steps + 1 - closing[d];
    grid.origin[d] = origin[d];
    grid.spacing[d] = spacing[axis];
  }
  for (std::size_t d = 0; d < 3; ++d)
    if (const std::string path = coordinates_path + "xyz"[d]; h5::exists(vtk, path))
      grid.coordinates[d] = h5::doubles(vtk, path, grid.points[d]);
  return grid;
}

std::string random_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// A dataset without points is one that another program has not filled yet.
void check_stored_shape(const std::string &path, const std::string &name, const Index3 &shape) {
  try {
    if (std::ranges::find(shape, 0) == shape.end())
      check_shape(name, shape);
  } catch (const InputError &error) {
    throw IoError(fmt::format("cannot read {}: it is damaged ({})", path, error.what()));
  }
}

void check_version(hid_t file, const std::string &path) {
  if (!h5::exists(file, own_path))
    return; // another program wrote it
  const auto found = h5::numbers<std::int64_t>(h5::group(file, own_path), "version", 1)[0];
  if (found != version)
    throw IoError(
        fmt::format("cannot read {}: its version is {}; this program reads version {}", path, found, version));
}

} // namespace

void create(hid_t file, const std::optional<GridDescription> &grid, const Closing &closing) {
  const h5::Handle vtk = h5::group(file, "/VTKHDF"), steps = h5::group(file, steps_path),
                   own = h5::group(file, own_path);
  h5::group(file, point_group);
  h5::group(file, attributes_path);
  h5::set_attribute(vtk, "Version", std::vector<std::int64_t>{2, 2});
  h5::set_attribute(vtk, "Type", "ImageData");
  h5::set_attribute(vtk, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  h5::set_attribute(steps, "NSteps", std::int64_t{0});
  h5::set_attribute(own, "version", version);
  if (closing != Closing{})
    h5::set_attribute(own, closing_name, std::vector<std::int64_t>(closing.begin(), closing.end()));
  h5::write_text(file, id_path, random_id());
  if (grid)
    write_grid(file, *grid, closing);
}

std::string generation_of(hid_t file) {
  if (!h5::exists(file, id_path))
    return "";
  std::string generation = h5::read_text(file, id_path);
  const Attributes about = h5::attributes(h5::group(file, own_path));
  if (const auto found = about.find(rewound_name); found != about.end())
    if (const auto *text = std::get_if<std::string>(&found->second))
      generation += *text;
  return generation;
}

void begin_generation(hid_t file) {
  if (h5::exists(file, id_path))
    h5::set_attribute(h5::group(file, own_path), rewound_name, random_id());
}

Contents read_contents(hid_t file, const std::string &path) {
  if (!h5::exists(file, steps_path))
    throw IoError(fmt::format("cannot read {}: it is no VTKHDF file with steps", path));
  check_version(file, path);
  Contents contents;
  contents.generation = generation_of(file);
  const std::int64_t count = h5::numbers<std::int64_t>(h5::group(file, steps_path), "NSteps", 1)[0];
  const auto times = h5::doubles(file, values_path, count);
  const auto indices = h5::integers(file, index_path, count);
  for (std::size_t step = 0; step < times.size(); ++step) // files of other programs have times, but no indices
    contents.steps.push_back({indices.empty() ? static_cast<std::int64_t>(step) : indices[step], times[step]});
  if (h5::exists(file, attributes_path))
    contents.attributes = h5::attributes(h5::group(file, attributes_path));
  contents.closing = read_closing(file);
  contents.grid = read_grid(h5::group(file, "/VTKHDF"), contents.closing);
  for (const auto &group : {point_group, cell_group, other_group})
    for (const auto &name : h5::datasets(file, group)) {
      const h5::Handle data = h5::dataset(file, group + "/" + name);
      const auto n = h5::extent(data);
      if (n.size() != 4 || n[0] < hsize(count) || is_view(file, group + "/" + name))
        continue; // vectors and so on
      const auto points = [&](std::size_t d) { return static_cast<std::int64_t>(n[d]); };
      const Index3 shape{points(3), points(2), points(1)};
      check_stored_shape(path, name, shape);
      contents.variables[name] = {{name, h5::type_of(data), shape}, group + "/" + name};
    }
  return contents;
}

void write_grid(hid_t file, const GridDescription &grid, const Closing &closing) {
  const h5::Handle vtk = h5::group(file, "/VTKHDF");
  if (!is_image(grid) &&
      h5::check(H5Aexists(vtk, "Type"), "look for Type") > 0) // ImageData would have the points at wrong places
    H5Adelete(vtk, "Type");
  const Index3 shape = drawn_shape(grid, closing);
  const auto axes = image_axes(shape);
  std::vector<std::int64_t> whole;
  std::vector<double> spacing, direction(9);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    whole.insert(whole.end(), {0, shape[axes[axis]] - 1});
    spacing.push_back(grid.spacing[axes[axis]]);
    direction[3 * axes[axis] + axis] = 1;
  }
  if ((axes[1] + 3 - axes[0]) % 3 != 1) // two axes are exchanged: with the last one, of one point, turned around the
    direction[3 * axes[2] + 2] = -1;    // three are right-handed again
  h5::set_attribute(vtk, "WholeExtent", whole);
  h5::set_attribute(vtk, "Origin", std::vector<double>(grid.origin.begin(), grid.origin.end()));
  h5::set_attribute(vtk, "Spacing", spacing);
  h5::set_attribute(vtk, "Direction", direction);
  for (std::size_t d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < grid.coordinates[d].size(); ++i)
      h5::put_row(file, coordinates_path + "xyz"[d], static_cast<std::int64_t>(i), grid.coordinates[d][i]);
}

void write_attributes(hid_t file, const Attributes &attributes) {
  const h5::Handle group = h5::group(file, attributes_path);
  for (const auto &[name, value] : attributes)
    h5::set_attribute(group, name, value);
}

namespace {

/// The planes of a chunk, so that all chunks are nearly equal.
std::int64_t planes_of_chunk(const VariableInfo &info, std::int64_t chunk_bytes) {
  const Index3 &n = info.shape;
  const std::int64_t plane = n[0] * n[1] * static_cast<std::int64_t>(size_of(info.type));
  if (plane > largest_chunk)
    throw InputError(
        fmt::format("one plane of '{}' has {} bytes, more than the {} of a chunk", info.name, plane, largest_chunk));
  const std::int64_t most = std::clamp<std::int64_t>(chunk_bytes / plane, 1, n[2]), pieces = (n[2] + most - 1) / most;
  return (n[2] + pieces - 1) / pieces;
}

/// The points of a chunk with filters: the shape, halved in its longest direction until it is small enough.
Index3 small_box(const VariableInfo &info, std::int64_t chunk_bytes) {
  Index3 box = info.shape;
  while (product(box) * static_cast<std::int64_t>(size_of(info.type)) > chunk_bytes && product(box) > 1) {
    std::size_t longest = 2;
    for (const std::size_t d : {1, 0})
      if (box[d] > box[longest])
        longest = d;
    box[longest] = (box[longest] + 1) / 2;
  }
  return box;
}

/// Whether the chunks of a dataset are planes without filters, so that ranks may write them.
bool has_fixed_places(hid_t data, const std::string &path) {
  const auto n = h5::extent(data);
  const h5::Handle creation(H5Dget_create_plist(data), H5Pclose);
  hsize_t chunk[4];
  if (H5Pget_layout(creation) != H5D_CHUNKED || H5Pget_chunk(creation, 4, chunk) != 4 || chunk[0] != 1)
    throw IoError(fmt::format("cannot append to {}: another program laid it out", path));
  H5D_alloc_time_t when = H5D_ALLOC_TIME_INCR;
  H5Pget_alloc_time(creation, &when);
  return H5Pget_nfilters(creation) == 0 && when == H5D_ALLOC_TIME_EARLY && chunk[2] == n[2] && chunk[3] == n[3];
}

/// Fills a chunk without filters with zeros.
void clear(int fd, const std::string &path, const Chunk &chunk) {
  if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, chunk.offset, chunk.bytes) == 0)
    return;
  const std::vector<char> zeros(std::size_t{1} << 20); // for file systems that cannot make holes
  for (std::int64_t done = 0; done < chunk.bytes; done += static_cast<std::int64_t>(zeros.size()))
    write_all(fd, zeros.data(), std::min<std::int64_t>(static_cast<std::int64_t>(zeros.size()), chunk.bytes - done),
              chunk.offset + done, path);
}

void resize(hid_t data, const std::string &path, std::int64_t steps) {
  auto n = h5::extent(data);
  n[0] = hsize(steps);
  h5::check(H5Dset_extent(data, n.data()), "resize " + path);
}

/// Calls visit for the chunks of a step, which all have a place in the file.
template <class Visit>
void for_each_chunk(hid_t file, hid_t data, const std::string &path, std::int64_t row, Visit visit) {
  const auto n = h5::extent(data);
  const h5::Handle creation(H5Dget_create_plist(data), H5Pclose);
  hsize_t chunk[4];
  if (H5Pget_chunk(creation, 4, chunk) != 4)
    return;
  for (hsize_t z = 0; z < n[1]; z += chunk[1])
    for (hsize_t y = 0; y < n[2]; y += chunk[2])
      for (hsize_t x = 0; x < n[3]; x += chunk[3]) {
        const hsize_t at[4] = {hsize(row), z, y, x};
        const auto [offset, bytes] = h5::place_of_chunk(file, data, at, path);
        visit(Chunk{offset, static_cast<std::int64_t>(z), static_cast<std::int64_t>(std::min(chunk[1], n[1] - z)),
                    bytes});
      }
}

} // namespace

Variable create_variable(hid_t file, const VariableInfo &info, const Contents &contents, const Filters &filters,
                         std::int64_t chunk_bytes) {
  const Index3 &n = info.shape;
  const std::string group = group_for(info, contents), path = group + "/" + info.name;
  const Index3 box =
      filters.any() ? small_box(info, chunk_bytes) : Index3{n[0], n[1], planes_of_chunk(info, chunk_bytes)};
  const hsize_t none[4] = {0, hsize(n[2]), hsize(n[1]), hsize(n[0])},
                any[4] = {H5S_UNLIMITED, none[1], none[2], none[3]};
  const hsize_t chunk[4] = {1, hsize(box[2]), hsize(box[1]), hsize(box[0])};
  const h5::Handle space(H5Screate_simple(4, none, any), H5Sclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation, 4, chunk);
  if (filters.any()) {
    filters.apply(creation);
  } else {
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY); // space and an address as soon as the dataset grows
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);   // the ranks write it
  }
  h5::group(file, group);
  if (const std::string view = point_group + "/" + info.name; is_view(file, view)) // of a vector of this name
    h5::remove(file, view);
  const h5::Handle made(
      h5::check(H5Dcreate2(file, path.c_str(), h5::type(info.type), space, H5P_DEFAULT, creation, H5P_DEFAULT),
                "create " + path),
      H5Dclose);
  return {info, path};
}

std::vector<Chunk> make_room(hid_t file, const Variable &variable, std::int64_t row) {
  const h5::Handle data = h5::dataset(file, variable.path);
  const bool fixed = has_fixed_places(data, variable.path);
  if (h5::extent(data).at(0) <= hsize(row)) // otherwise a removed step has left its space
    resize(data, variable.path, row + 1);
  std::vector<Chunk> chunks;
  if (!fixed)
    return chunks;
  for_each_chunk(file, data, variable.path, row, [&](const Chunk &chunk) { chunks.push_back(chunk); });
  return chunks;
}

void leave_out(hid_t file, const std::string &path, const Variable &variable, std::int64_t row) {
  const h5::Handle data = h5::dataset(file, variable.path);
  if (h5::extent(data).at(0) > hsize(row)) { // a dropped step's values must not pass for this one's
    const FileDescriptor bytes(path, O_WRONLY);
    for_each_chunk(file, data, variable.path, row, [&](const Chunk &chunk) { clear(bytes.get(), path, chunk); });
    return;
  }
  resize(data, variable.path, row + 1);
}

void cut_variable(hid_t file, const Variable &variable, std::int64_t steps) {
  const h5::Handle data = h5::dataset(file, variable.path);
  if (h5::extent(data).at(0) > hsize(steps) && !has_fixed_places(data, variable.path))
    resize(data, variable.path, steps);
}

} // namespace tailrace::io::vtkhdf
