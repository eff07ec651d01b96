#include <tailrace/io/vtkhdf.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tailrace::io::vtkhdf {

namespace {

constexpr std::int64_t version = 1;
constexpr std::int64_t largest_chunk = (std::int64_t{1} << 32) - 1; // HDF5's limit
const std::string steps_path = "/VTKHDF/Steps", values_path = "/VTKHDF/Steps/Values", own_path = "/Tailrace",
                  index_path = "/Tailrace/index", checksums_path = "/Tailrace/checksums",
                  scalars_path = "/Tailrace/scalars", attributes_path = "/Tailrace/attributes";
const std::string point_group = "/VTKHDF/PointData", cell_group = "/VTKHDF/CellData", other_group = "/Fields";

hsize_t size(std::int64_t value) { return static_cast<hsize_t>(value); }

std::string group_for(const Index3 &shape, const Index3 &points) {
  const Index3 cells{points[0] - 1, points[1] - 1, points[2] - 1};
  return shape == points ? point_group : shape == cells ? cell_group : other_group;
}

std::optional<GridDescription> read_grid(hid_t vtk) {
  if (H5Aexists(vtk, "WholeExtent") <= 0)
    return std::nullopt;
  const auto whole = h5::numbers<std::int64_t>(vtk, "WholeExtent");
  const auto origin = h5::numbers<double>(vtk, "Origin"), spacing = h5::numbers<double>(vtk, "Spacing");
  GridDescription grid;
  for (std::size_t d = 0; d < 3; ++d) {
    grid.points[d] = whole.at(2 * d + 1) - whole.at(2 * d) + 1;
    grid.origin[d] = origin.at(d);
    grid.spacing[d] = spacing.at(d);
  }
  return grid;
}

} // namespace

void create(hid_t file, const std::optional<GridDescription> &grid) {
  const h5::Handle vtk = h5::group(file, "/VTKHDF"), steps = h5::group(file, steps_path),
                   own = h5::group(file, own_path);
  h5::group(file, point_group);
  h5::group(file, attributes_path);
  h5::set_attribute(vtk, "Version", std::vector<std::int64_t>{2, 2});
  h5::set_attribute(vtk, "Type", "ImageData");
  h5::set_attribute(vtk, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  h5::set_attribute(steps, "NSteps", std::int64_t{0});
  h5::set_attribute(own, "version", version);
  if (grid)
    write_grid(file, *grid);
}

Contents read_contents(hid_t file, const std::string &path) {
  if (!h5::exists(file, steps_path))
    throw IoError(fmt::format("cannot read {}: it is no VTKHDF file with steps", path));
  Contents contents;
  const std::int64_t count = h5::numbers<std::int64_t>(h5::group(file, steps_path), "NSteps").at(0);
  const auto times = h5::doubles(file, values_path, count);
  const auto indices = h5::integers(file, index_path, count);
  for (std::size_t step = 0; step < times.size(); ++step) // a file of another program has times, but no indices
    contents.steps.push_back({indices.empty() ? static_cast<std::int64_t>(step) : indices[step], times[step]});
  if (h5::exists(file, attributes_path))
    contents.attributes = h5::attributes(h5::group(file, attributes_path));
  contents.grid = read_grid(h5::group(file, "/VTKHDF"));
  for (const auto &group : {point_group, cell_group, other_group})
    for (const auto &name : h5::datasets(file, group)) {
      const h5::Handle data = h5::dataset(file, group + "/" + name);
      const auto n = h5::extent(data);
      if (n.size() != 4 || n[0] < size(count))
        continue; // vectors and the like, of another program
      const auto points = [&](std::size_t d) { return static_cast<std::int64_t>(n[d]); };
      contents.variables[name] = {{name, h5::type_of(data), {points(3), points(2), points(1)}}, group + "/" + name};
    }
  return contents;
}

void write_grid(hid_t file, const GridDescription &grid) {
  const h5::Handle vtk = h5::group(file, "/VTKHDF");
  const auto &n = grid.points;
  h5::set_attribute(vtk, "WholeExtent", std::vector<std::int64_t>{0, n[0] - 1, 0, n[1] - 1, 0, n[2] - 1});
  h5::set_attribute(vtk, "Origin", std::vector<double>(grid.origin.begin(), grid.origin.end()));
  h5::set_attribute(vtk, "Spacing", std::vector<double>(grid.spacing.begin(), grid.spacing.end()));
}

void write_attributes(hid_t file, const Attributes &attributes) {
  const h5::Handle group = h5::group(file, attributes_path);
  for (const auto &[name, value] : attributes)
    h5::set_attribute(group, name, value);
}

Variable create_variable(hid_t file, const VariableInfo &info, const GridDescription &grid, std::int64_t chunk_bytes) {
  const auto &[name, type, n, list] = info;
  (void)list;
  const std::string group = group_for(n, grid.points), path = group + "/" + name;
  const std::int64_t plane = n[0] * n[1] * static_cast<std::int64_t>(size_of(type));
  if (plane > largest_chunk)
    throw InputError(
        fmt::format("one plane of '{}' has {} bytes, more than the {} of a chunk", name, plane, largest_chunk));
  const std::int64_t most = std::clamp<std::int64_t>(chunk_bytes / plane, 1, n[2]), pieces = (n[2] + most - 1) / most;
  const std::int64_t planes = (n[2] + pieces - 1) / pieces; // chunks as equal as can be
  const hsize_t none[4] = {0, size(n[2]), size(n[1]), size(n[0])}, any[4] = {H5S_UNLIMITED, none[1], none[2], none[3]};
  const hsize_t chunk[4] = {1, size(planes), none[2], none[3]};
  const h5::Handle space(H5Screate_simple(4, none, any), H5Sclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation, 4, chunk);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY); // room, and an address, as soon as the dataset grows
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);   // the ranks fill it
  h5::group(file, group);
  const h5::Handle made(
      h5::check(H5Dcreate2(file, path.c_str(), h5::type(type), space, H5P_DEFAULT, creation, H5P_DEFAULT),
                "create " + path),
      H5Dclose);
  return {info, path};
}

std::vector<Chunk> make_room(hid_t file, const Variable &variable, std::int64_t row) {
  const h5::Handle data = h5::dataset(file, variable.path);
  auto n = h5::extent(data);
  if (n[0] <= size(row)) { // else a dropped step has left its place
    n[0] = size(row) + 1;
    h5::check(H5Dset_extent(data, n.data()), "extend " + variable.path);
  }
  const h5::Handle creation(H5Dget_create_plist(data), H5Pclose);
  hsize_t chunk[4];
  if (H5Pget_chunk(creation, 4, chunk) != 4 || chunk[0] != 1 || chunk[2] != n[2] || chunk[3] != n[3] ||
      H5Pget_nfilters(creation) != 0)
    throw IoError(fmt::format("cannot append to {}: another program laid it out", variable.path));
  std::vector<Chunk> chunks;
  for (hsize_t z = 0; z < n[1]; z += chunk[1]) {
    const hsize_t at[4] = {size(row), z, 0, 0};
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    h5::check(H5Dget_chunk_info_by_coord(data, at, nullptr, &offset, &bytes), "find a chunk of " + variable.path);
    if (offset == HADDR_UNDEF)
      throw IoError(fmt::format("HDF5 made no room for {}", variable.path));
    chunks.push_back({static_cast<std::int64_t>(offset), static_cast<std::int64_t>(z),
                      static_cast<std::int64_t>(std::min(chunk[1], n[1] - z)), static_cast<std::int64_t>(bytes)});
  }
  return chunks;
}

std::map<std::int64_t, std::int64_t> all_chunks(hid_t file, const Contents &contents) {
  std::map<std::int64_t, std::int64_t> result;
  for (const auto &[name, variable] : contents.variables) {
    const h5::Handle data = h5::dataset(file, variable.path), space(H5Dget_space(data), H5Sclose);
    hsize_t count = 0;
    h5::check(H5Dget_num_chunks(data, space, &count), "list the chunks of " + variable.path);
    for (hsize_t chunk = 0; chunk < count; ++chunk) {
      haddr_t offset = 0;
      hsize_t bytes = 0;
      h5::check(H5Dget_chunk_info(data, space, chunk, nullptr, nullptr, &offset, &bytes),
                "find a chunk of " + variable.path);
      result[static_cast<std::int64_t>(offset)] = static_cast<std::int64_t>(bytes);
    }
  }
  return result;
}

void append_step(hid_t file, std::int64_t row, const StepInfo &step, const Scalars &scalars,
                 const std::string &checksums) {
  for (const auto &[name, scalar] : scalars)
    std::visit([&, &name = name](const auto &value) { h5::put_row(file, scalars_path + "/" + name, row, value); },
               scalar);
  for (const auto &name : h5::datasets(file, scalars_path))
    if (!scalars.count(name))
      h5::put_row(file, scalars_path + "/" + name, row, std::numeric_limits<double>::quiet_NaN());
  if (!checksums.empty())
    h5::put_row(file, checksums_path, row, checksums);
  h5::put_row(file, values_path, row, step.time);
  h5::put_row(file, index_path, row, step.index);
  h5::set_attribute(h5::group(file, steps_path), "NSteps", row + 1);
}

void cut_steps(hid_t file, std::int64_t steps) {
  h5::set_attribute(h5::group(file, steps_path), "NSteps", steps);
  std::vector<std::string> lists{values_path, index_path, checksums_path};
  for (const auto &name : h5::datasets(file, scalars_path))
    lists.push_back(scalars_path + "/" + name);
  for (const auto &list : lists)
    if (h5::exists(file, list))
      h5::cut_rows(file, list, steps);
}

Scalars scalars(hid_t file, std::int64_t row) {
  Scalars result;
  for (const auto &name : h5::datasets(file, scalars_path))
    result[name] = h5::doubles(file, scalars_path + "/" + name, row + 1).back();
  return result;
}

std::string checksums(hid_t file, std::int64_t row) { return h5::string_row(file, checksums_path, row); }

} // namespace tailrace::io::vtkhdf
