#pragma once

#include <tailrace/io/engine/parameters.hpp>

#include <hdf5.h>

#include <cstdint>

namespace tailrace::io {

/// The filters that are applied to the chunks of a dataset. Everything here is local.
struct Filters {
  enum class Compression { none, gzip, szip };
  Compression compression = Compression::none;
  std::int64_t level = 4; ///< of gzip: 1 is the fastest, 9 the smallest
  bool shuffle = false;   ///< store the first bytes of all values, then all second bytes, and so on

  bool any() const { return compression != Compression::none || shuffle; }
  /// Adds them to a creation property list.
  void apply(hid_t creation) const;
};

/// Reads `compression`, `level` and `shuffle`. Throws InputError for a filter that this HDF5 lacks.
Filters take_filters(Parameters &parameters);

} // namespace tailrace::io
