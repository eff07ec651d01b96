#pragma once

#include <tailrace/io/engine/block_list.hpp>
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/hdf5/filters/filters.hpp>
#include <tailrace/io/storage/mpi_file.hpp>

#include <array>
#include <cstdint>

namespace tailrace::io {

/// The parameters of the engine hdf5; docs/io/hdf5.md describes them.
struct Hdf5Options {
  Transfer transfer = Transfer::independent;
  double failure_timeout = 0; ///< seconds, of collective transfer
  Filters filters;
  BlockList block_list; ///< where the checksums of a step are
  std::int64_t chunk_bytes = 0, alignment = 0;
  std::array<bool, 3> closing{}; ///< directions with a closing plane
  bool closing_given = false;
};

/// Throws InputError. Local.
Hdf5Options hdf5_options(Parameters &parameters);

} // namespace tailrace::io
