#include <tailrace/io/hdf5/filters/filters.hpp>

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::io {

namespace {

bool can_write(H5Z_filter_t filter) {
  unsigned about = 0;
  return H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &about) >= 0 &&
         (about & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0;
}

std::string available() {
  std::string text = "none";
  if (can_write(H5Z_FILTER_DEFLATE))
    text += ", gzip";
  if (can_write(H5Z_FILTER_SZIP))
    text += ", szip";
  return text;
}

void require(H5Z_filter_t filter, const std::string &name) {
  if (!can_write(filter))
    throw InputError(
        fmt::format("compression = '{}': the HDF5 library that this program uses was built without it; it has {}", name,
                    available()));
}

} // namespace

Filters take_filters(Parameters &parameters) {
  Filters filters;
  const std::string name = parameters.text("compression", "none", {"none", "gzip", "szip"});
  if (name == "gzip") {
    require(H5Z_FILTER_DEFLATE, name);
    filters.compression = Filters::Compression::gzip;
    filters.level = parameters.number("level", filters.level, 1);
    if (filters.level > 9)
      throw InputError(fmt::format("level = {}: gzip has the levels 1 to 9", filters.level));
  } else if (name == "szip") {
    require(H5Z_FILTER_SZIP, name);
    filters.compression = Filters::Compression::szip;
  }
  // Shuffling helps gzip more than it costs; szip compresses whole values and gains nothing.
  const bool shuffle = parameters.flag("shuffle", name == "gzip");
  if (shuffle && name == "none")
    throw InputError("shuffle = on: it only helps a compression; set compression = gzip");
  filters.shuffle = shuffle;
  return filters;
}

void Filters::apply(hid_t creation) const {
  if (shuffle)
    h5::check(H5Pset_shuffle(creation), "set the filter shuffle");
  if (compression == Compression::gzip)
    h5::check(H5Pset_deflate(creation, static_cast<unsigned>(level)), "set the filter gzip");
  if (compression == Compression::szip)
    h5::check(H5Pset_szip(creation, H5_SZIP_NN_OPTION_MASK, 32), "set the filter szip");
}

} // namespace tailrace::io
