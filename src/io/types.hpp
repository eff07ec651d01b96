#pragma once

#include <tailrace/grid/box.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace tailrace::io {

/// What a caller wants from a series: a new one, more steps after those it has, or its contents.
enum class Mode { write, append, read };

/// Number type of a grid variable, in memory or in a file.
enum class Type { float32, float64 };

template <class T> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr Type value = Type::float32;
};
template <> struct TypeOf<double> {
  static constexpr Type value = Type::float64;
};

inline std::size_t size_of(Type type) { return type == Type::float32 ? 4 : 8; }
inline const char *name_of(Type type) { return type == Type::float32 ? "float32" : "float64"; }
/// Throws InputError for any other name.
Type type_named(const std::string &name);

/// Where the points of the grid variables lie, for the programs that draw them: point i of direction d is at
/// `origin[d] + i * spacing[d]` (lengths in the units of the run).
struct GridDescription {
  Index3 points{0, 0, 0};
  std::array<double, 3> origin{0, 0, 0};
  std::array<double, 3> spacing{1, 1, 1};
};

/// Name of a step: its index (the time step of the simulation, growing along the series) and its time.
struct StepInfo {
  std::int64_t index = 0;
  double time = 0;
};

/// A grid variable of a step. `shape` is the global shape in points, x, y, z.
struct VariableInfo {
  std::string name;
  Type type = Type::float64;
  Index3 shape{0, 0, 0};
};

/// How one rank's part of a grid variable lies in the whole and in memory; all in global indices.
struct Placement {
  Index3 shape{0, 0, 0}; ///< the whole variable
  Box block;             ///< what this rank contributes; may be empty
  Box memory;            ///< what its array covers: `block` and any ghosts around it, which may lie outside the grid
};

/// What a series can say of itself as a whole.
using Attribute = std::variant<std::string, std::int64_t, double, std::vector<std::int64_t>, std::vector<double>>;
using Attributes = std::map<std::string, Attribute>;
using Scalars = std::map<std::string, double>;

/// What one rank's series has moved, and the wall time it took, in bytes and seconds.
struct Counters {
  std::int64_t bytes_written = 0;
  std::int64_t bytes_read = 0;
  std::int64_t steps = 0;
  double convert_seconds = 0; ///< change of precision and checksums
  double write_seconds = 0;   ///< handing the data over to the engine, and the engine to the file system
  double finish_seconds = 0;  ///< end_step and close: metadata, and data of engines that buffer a step
  double sync_seconds = 0;    ///< waiting for the disk, when `sync` was asked for
  double read_seconds = 0;
};

} // namespace tailrace::io
