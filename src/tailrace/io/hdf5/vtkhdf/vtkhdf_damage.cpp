// Damage of a VTKHDF file of ours besides the data of steps: of the index of chunks, which has no checksums, and of
// objects that a reader of steps does not need, but a writer does.

#include <tailrace/io/hdf5/journal/journaled_driver.hpp>
#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tailrace::io::vtkhdf {

namespace {

/// The chunks of all datasets that were looked at, in the order of the file.
class Places {
public:
  /// Adds those of a dataset, and checks the dataset itself.
  void add(hid_t file, const std::string &path) {
    const h5::Handle data = h5::dataset(file, path), kind(H5Dget_type(data), H5Tclose),
                     creation(H5Dget_create_plist(data), H5Pclose);
    const auto n = h5::extent(data);
    std::vector<hsize_t> chunk(n.size());
    if (H5Pget_layout(creation) != H5D_CHUNKED || H5Pget_chunk(creation, static_cast<int>(n.size()), chunk.data()) < 0)
      return;
    hsize_t most = 1, size = H5Tget_size(kind);
    for (std::size_t d = 0; d < n.size(); ++d) {
      most *= (n[d] + chunk[d] - 1) / chunk[d];
      size *= chunk[d];
    }
    const auto chunks = h5::chunks_of(file, data, path);
    H5D_alloc_time_t when = H5D_ALLOC_TIME_INCR;
    H5Pget_alloc_time(creation, &when);
    if (chunks.size() > most || (chunks.size() < most && when == H5D_ALLOC_TIME_EARLY))
      throw IoError(fmt::format("it has {} chunks instead of {}", chunks.size(), most));
    const bool fixed = H5Pget_nfilters(creation) == 0 && H5Tis_variable_str(kind) == 0; // texts: in memory only
    for (const auto &one : chunks) {
      if (fixed && static_cast<hsize_t>(one.bytes) != size)
        throw IoError(fmt::format("a chunk has {} bytes instead of {}", one.bytes, size));
      places_.push_back({one, path});
    }
  }

  /// One line for each pair of neighbours that overlap.
  void find_overlaps(std::vector<std::string> &lines) {
    std::sort(places_.begin(), places_.end(),
              [](const Place &one, const Place &other) { return one.chunk.address < other.chunk.address; });
    for (std::size_t at = 1; at < places_.size(); ++at)
      if (const auto &[before, path] = places_[at - 1]; before.address + before.bytes > places_[at].chunk.address)
        lines.push_back(fmt::format("{} and {}: they have chunks in the same place", path, places_[at].path));
  }

private:
  struct Place {
    h5::StoredChunk chunk;
    std::string path;
  };
  std::vector<Place> places_;
};

/// Reads the metadata of all objects, which have checksums.
void read_metadata(hid_t file) {
  const auto go_on = [](hid_t, const char *, const h5::ObjectInfo *, void *) -> herr_t { return 0; };
  h5::check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, go_on, nullptr, H5O_INFO_ALL), "read all objects");
}

} // namespace

std::vector<std::string> damage(hid_t file, const Contents &contents) {
  std::vector<std::string> lines;
  if (!h5::exists(file, "/Tailrace")) // another program wrote it, and may have laid it out in any way
    return lines;
  const auto inspect = [&](const std::string &path, const std::function<void()> &work) {
    try {
      work();
    } catch (const IoError &error) {
      lines.push_back(fmt::format("{}: {}", path, error.what()));
    }
  };
  Places places;
  for (const auto &[name, variable] : contents.variables)
    inspect(variable.path, [&, &path = variable.path] { places.add(file, path); });
  inspect("/Tailrace", [&] {
    for (const auto &path : lists_of_steps(file))
      inspect(path, [&] {
        places.add(file, path);
        if (h5::kind_of(file, path) != H5T_STRING) // of which the records of the steps have a copy with a checksum
          h5::doubles(file, path, static_cast<std::int64_t>(contents.steps.size()));
      });
  });
  places.find_overlaps(lines);
  inspect("/", [&] { read_metadata(file); });
  return lines;
}

} // namespace tailrace::io::vtkhdf
