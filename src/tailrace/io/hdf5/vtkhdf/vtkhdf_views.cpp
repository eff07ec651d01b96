// Views of a VTKHDF file of ours: virtual datasets. VTK, ParaView and h5py read them as any other dataset, and HDF5
// takes the values from the datasets of the components. They grow with these, so that a step changes nothing in them.

#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>

#include <algorithm>

namespace tailrace::io::vtkhdf {

namespace {

constexpr std::array<const char *, 3> endings[] = {{"_x", "_y", "_z"}, {"_1", "_2", "_3"}, {"x", "y", "z"}};

using h5::hsize;

/// A part of all steps of a dataset [step, z, y, x], or of one component of a dataset [step, z, y, x, component].
h5::Handle part(const Box &box, const Index3 &shape, std::int64_t components, std::int64_t component) {
  std::vector<hsize_t> extent{1, hsize(shape[2]), hsize(shape[1]), hsize(shape[0])}, most = extent;
  std::vector<hsize_t> start{0, hsize(box.start[2]), hsize(box.start[1]), hsize(box.start[0])};
  std::vector<hsize_t> block{1, hsize(box.count[2]), hsize(box.count[1]), hsize(box.count[0])};
  if (components > 0) {
    extent.push_back(hsize(components));
    start.push_back(hsize(component));
    block.push_back(1);
    most = extent;
  }
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
  Index3 shape = points;
  for (std::size_t d = 0; d < 3; ++d)
    shape[d] += contents.closing[d];
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
        h5::check(H5Pset_virtual(creation, part(to, shape, components, static_cast<std::int64_t>(c)), ".",
                                 sources[c].path.c_str(), part(from, points, 0, 0)),
                  "describe " + path);
    }
  h5::group(file, point_group);
  const h5::Handle space = part({{0, 0, 0}, shape}, shape, components, 0);
  H5Sselect_all(space);
  const h5::Handle made(h5::check(H5Dcreate2(file, path.c_str(), h5::type(sources[0].info.type), space, H5P_DEFAULT,
                                             creation, H5P_DEFAULT),
                                  "create " + path),
                        H5Dclose);
}

/// The components of a vector on the points of which `name` is the first, and the vector's name; empty if it is none.
std::vector<Variable> vector_of(const std::string &name, const Contents &contents, std::string &vector) {
  for (const auto &ending : endings) {
    const std::string first = ending[0];
    if (name.size() <= first.size() || !name.ends_with(first))
      continue;
    const std::string base = name.substr(0, name.size() - first.size());
    std::vector<Variable> components;
    for (const char *end : ending)
      if (const auto found = contents.variables.find(base + end); found != contents.variables.end())
        components.push_back(found->second);
    const auto fits = [&](const Variable &one) {
      return one.info.shape == contents.grid->points && one.info.type == components[0].info.type;
    };
    vector = base == "u" ? "velocity" : base + "_vector";
    const bool longer = first == "_1" && contents.variables.contains(base + "_4"); // an array with more components
    if (components.size() == 3 && !longer && std::ranges::all_of(components, fits))
      return components;
    return {};
  }
  return {};
}

} // namespace

bool is_view(hid_t file, const std::string &path) {
  if (!h5::exists(file, own_path) || !h5::exists(file, path))
    return false;
  const h5::Handle data = h5::dataset(file, path), creation(H5Dget_create_plist(data), H5Pclose);
  return H5Pget_layout(creation) == H5D_VIRTUAL;
}

void add_closed_view(hid_t file, const Variable &variable, const Contents &contents) {
  make_view(file, point_group + "/" + variable.info.name, {variable}, contents, false);
}

void add_vectors(hid_t file, const Contents &contents) {
  if (!contents.grid || !h5::exists(file, own_path))
    return;
  for (const auto &[name, variable] : contents.variables) {
    std::string vector;
    const auto components = vector_of(name, contents, vector);
    const std::string path = point_group + "/" + vector;
    if (!components.empty() && !contents.variables.contains(vector) && !h5::exists(file, path))
      make_view(file, path, components, contents, true);
  }
}

} // namespace tailrace::io::vtkhdf
