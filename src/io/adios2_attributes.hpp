#pragma once

#include <tailrace/io/types.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>

#include <optional>

namespace tailrace::io {

/// Our attributes stand under tailrace/attributes/, the grid under tailrace/grid/. All local.
void write_attributes(adios2::IO &io, const Attributes &attributes);
Attributes read_attributes(adios2::IO &io);
void write_grid(adios2::IO &io, const GridDescription &grid);
std::optional<GridDescription> read_grid(adios2::IO &io);

} // namespace tailrace::io

#endif
