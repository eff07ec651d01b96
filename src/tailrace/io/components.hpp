#pragma once

#include <tailrace/io/series.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

// A four-dimensional array (nx, ny, nz, components), as a solver's array of all its variables, is stored as one grid
// variable per component: so any engine holds it, any program draws it, and a reader of one component reads no other.
// The names are `name`_1 to `name`_n, from 1 in every language: the files are the same whoever wrote them, and Fortran,
// where such arrays come from, counts so.

/// Name of component `number`, from 0, of an array.
std::string component_name(const std::string &name, std::int64_t number);

/// Components that a step has of an array: name_1, name_2 and so on without a gap; 0: there is no such array. Local.
std::int64_t count_components(const Series &series, std::size_t step, const std::string &name);

/// Writes this rank's block of every component; `data` holds them one after another, each over `place.memory`.
/// `components` must be the same on all ranks. With a region only its points. Collective; errors as Series::write.
void write_components(Series &series, const std::string &name, Type type, const void *data, const Placement &place,
                      std::int64_t components, Put put = Put::sync, const std::optional<Region> &region = {});

/// Fills `data` with `count` components from `first` (from 0) of a box, one after another; every rank its own box and
/// range. Collective; errors as Series::read.
void read_components(const Series &series, std::size_t step, const std::string &name, Type type, const Box &box,
                     std::int64_t first, std::int64_t count, void *data);

} // namespace tailrace::io
