// Views of a VTKHDF file of ours: virtual datasets. VTK, ParaView and h5py read them as any other dataset, and HDF5
// takes the values from the datasets of the components. They grow with these, so that a step changes nothing in them.

#include <tailrace/io/data/vectors.hpp>
#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>

#include <algorithm>

namespace tailrace::io::vtkhdf {

namespace {

using h5::hsize;

/// A part of all steps of a dataset [step, z, y, x], or of one component of a dataset [step, z, y, x, component].
/// `reduced`: the dataset has no directions of one point.
h5::Handle part(const Box &box, const Index3 &shape, bool reduced, std::int64_t components, std::int64_t component) {
  std::vector<hsize_t> extent{1}, start{0}, block{1};
  const auto add = [&](std::int64_t points, std::int64_t first, std::int64_t count) {
    extent.push_back(hsize(points));
    start.push_back(hsize(first));
    block.push_back(hsize(count));
  };
  const bool one_point = shape == Index3{1, 1, 1}; // which is a line to VTK
  for (const std::size_t d : {2, 1, 0})
    if (!reduced || shape[d] > 1 || (one_point && d == 0))
      add(shape[d], box.start[d], box.count[d]);
  if (components > 0)
    add(components, component, 1);
  std::vector<hsize_t> most = extent;
  most[0] = H5S_UNLIMITED;
  const std::vector<hsize_t> stride(extent.size(), 1);
  std::vector<hsize_t> count(extent.size(), 1);
  count[0] = H5S_UNLIMITED;
  h5::Handle space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), most.data()), H5Sclose);
  h5::check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), stride.data(), count.data(), block.data()),
            "select a part of a view");
  return space;
}

/// Makes a view of one variable, or of several as the components of a vector.
void make_view(hid_t file, const std::string &path, const std::vector<Variable> &sources, const Contents &contents,
               bool vector) {
  const Index3 &points = contents.grid->points;
  const Index3 shape = drawn_shape(*contents.grid, contents.closing);
  const auto components = vector ? static_cast<std::int64_t>(sources.size()) : 0;
  const h5::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  for (std::size_t c = 0; c < sources.size(); ++c)
    for (unsigned planes = 0; planes < 8; ++planes) { // which directions of this part are closing planes
      Box from{{0, 0, 0}, points}, to = from;
      bool there = true;
      for (std::size_t d = 0; d < 3; ++d)
        if (planes & (1U << d)) {
          there = there && contents.closing[d];
          to.start[d] = points[d];
          from.count[d] = to.count[d] = 1;
        }
      if (there)
        h5::check(H5Pset_virtual(creation, part(to, shape, true, components, static_cast<std::int64_t>(c)), ".",
                                 sources[c].path.c_str(), part(from, points, false, 0, 0)),
                  "describe " + path);
    }
  h5::group(file, point_group);
  const h5::Handle space = part({{0, 0, 0}, shape}, shape, true, components, 0);
  H5Sselect_all(space);
  const h5::Handle made(h5::check(H5Dcreate2(file, path.c_str(), h5::type(sources[0].info.type), space, H5P_DEFAULT,
                                             creation, H5P_DEFAULT),
                                  "create " + path),
                        H5Dclose);
}

} // namespace

Index3 drawn_shape(const GridDescription &grid, const Closing &closing) {
  Index3 shape = grid.points;
  for (std::size_t d = 0; d < 3; ++d)
    shape[d] += closing[d];
  return shape;
}

bool is_image(const GridDescription &grid) {
  for (std::size_t d = 0; d < 3; ++d)
    if (const auto &places = grid.coordinates[d]; places.size() > 1 || (!places.empty() && places[0] != grid.origin[d]))
      return false;
  return true;
}

std::array<std::size_t, 3> image_axes(const Index3 &shape) {
  std::array<std::size_t, 3> axes{0, 1, 2};
  std::ranges::stable_partition(axes, [&](std::size_t d) { return shape[d] > 1; });
  return axes;
}

bool draws_views(const Contents &contents) {
  const Index3 shape = drawn_shape(*contents.grid, contents.closing);
  const bool flat = std::ranges::find(shape, 1) != shape.end() && is_image(*contents.grid);
  return flat || contents.closing != Closing{};
}

bool is_view(hid_t file, const std::string &path) {
  if (!h5::exists(file, own_path) || !h5::exists(file, path))
    return false;
  const h5::Handle data = h5::dataset(file, path), creation(H5Dget_create_plist(data), H5Pclose);
  return H5Pget_layout(creation) == H5D_VIRTUAL;
}

void add_view(hid_t file, const Variable &variable, const Contents &contents) {
  make_view(file, point_group + "/" + variable.info.name, {variable}, contents, false);
}

void add_vectors(hid_t file, const Contents &contents) {
  if (!contents.grid || !h5::exists(file, own_path))
    return;
  if (drawn_shape(*contents.grid, contents.closing) == Index3{1, 1, 1}) // VTK takes its components for points
    return;
  for (const auto &[first, variable] : contents.variables) {
    const auto fits = [&, type = variable.info.type](const std::string &name) {
      const auto found = contents.variables.find(name);
      return found != contents.variables.end() && found->second.info.shape == contents.grid->points &&
             found->second.info.type == type;
    };
    const auto vector = vector_from(first, fits);
    if (!vector || !is_drawn(variable.info.type))
      continue;
    const std::string path = point_group + "/" + vector->name;
    std::vector<Variable> components;
    for (const auto &name : vector->components)
      components.push_back(contents.variables.at(name));
    if (!contents.variables.contains(vector->name) && !h5::exists(file, path))
      make_view(file, path, components, contents, true);
  }
}

} // namespace tailrace::io::vtkhdf
