#pragma once

#include <tailrace/io/series.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

// An array of four dimensions (nx, ny, nz, components) is stored as one grid variable per component, so that every
// engine can store it, other programs can draw it, and a reader can read one component alone. The names are `name`_1 to
// `name`_n in every language, so that the files do not depend on the language; Fortran counts from 1.

/// Name of component `number` of an array, counted from 0.
std::string component_name(const std::string &name, std::int64_t number);

/// Number of components of an array in a step: name_1, name_2 and so on without a gap; 0: no such array. Local.
std::int64_t count_components(const Series &series, std::size_t step, const std::string &name);

/// Writes this rank's block of every component; `data` holds them one after another, each over `place.memory`. All
/// ranks give the same `components`. With `region`, only its points. Collective; errors as in Series::write.
void write_components(Series &series, const std::string &name, Type type, const void *data, const Placement &place,
                      std::int64_t components, Put put = Put::sync, const std::optional<Region> &region = {});

/// Fills `data` with `count` components of a box, one after another, starting with component `first`, counted from 0.
/// Each rank has its own box and range. Collective; errors as in Series::read.
void read_components(const Series &series, std::size_t step, const std::string &name, Type type, const Box &box,
                     std::int64_t first, std::int64_t count, void *data);

} // namespace tailrace::io
