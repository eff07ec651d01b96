#pragma once

#include <tailrace/grid/box.hpp>

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace tailrace::io {

using grid::Box;
using grid::Index3;
using grid::product;

/// How to open a series: begin a new one, which replaces an earlier one (write) or is an error where there is anything
/// (exclusive); add steps to an existing one; or read.
enum class Mode { write, exclusive, append, read };

/// Number type of a variable, in memory or in a file. A boolean is one byte, 0 or 1; float16 has the bits of IEEE 754;
/// a complex number is its real part, then its imaginary part.
enum class Type {
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  complex64,
  complex128
};

/// The Type of a C++ type; float16 has no C++ type.
template <class T> constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>)
    return Type::float32;
  else if constexpr (std::is_same_v<T, double>)
    return Type::float64;
  else if constexpr (std::is_same_v<T, bool>)
    return Type::boolean;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return Type::complex64;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return Type::complex128;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8);
    constexpr std::array whole{Type::int8, Type::int16, Type::int32, Type::int64};
    constexpr std::array natural{Type::uint8, Type::uint16, Type::uint32, Type::uint64};
    return (std::is_signed_v<T> ? whole : natural)[std::bit_width(sizeof(T)) - 1];
  }
}

/// What the bits of a type mean.
enum class NumberKind { real, integer, natural, boolean, complex };

struct TypeTraits {
  Type type;
  const char *name; ///< as NumPy calls it
  NumberKind kind;
  std::size_t bytes;
};

const std::vector<TypeTraits> &all_types();
const TypeTraits &traits_of(Type type);
inline std::size_t size_of(Type type) { return traits_of(type).bytes; }
inline const char *name_of(Type type) { return traits_of(type).name; }
/// Whether the type is float32 or float64, one of which a series may have for both.
inline bool is_real(Type type) { return type == Type::float32 || type == Type::float64; }
/// Whether programs that draw know the type.
inline bool is_drawn(Type type) {
  return is_real(type) || traits_of(type).kind == NumberKind::integer || traits_of(type).kind == NumberKind::natural;
}
/// Throws InputError for an unknown name.
Type type_named(const std::string &name);

/// Positions of the points of grid variables, for programs that draw them. Point i of direction d is at
/// `origin[d] + i * spacing[d]` (in the length unit of the run); on a stretched grid at `coordinates[d][i]`.
struct GridDescription {
  Index3 points{0, 0, 0};
  std::array<double, 3> origin{0, 0, 0};
  std::array<double, 3> spacing{1, 1, 1};
  std::array<std::vector<double>, 3> coordinates{}; ///< of all points of a direction; empty: uniform

  /// Position of point i in direction d.
  double coordinate(std::size_t d, std::int64_t i) const {
    return coordinates[d].empty() ? origin[d] + static_cast<double>(i) * spacing[d]
                                  : coordinates[d][static_cast<std::size_t>(i)];
  }
  bool stretched() const { return !coordinates[0].empty() || !coordinates[1].empty() || !coordinates[2].empty(); }
};

/// A step: its index (the time step of the simulation, increasing in the series) and its time.
struct StepInfo {
  std::int64_t index = 0;
  double time = 0;
};

/// A variable of a step. `shape` is the global shape in points, x, y, z. A list, to which each rank adds any number of
/// rows, has the shape (columns, rows, 1); its number of rows may differ in every step.
struct VariableInfo {
  std::string name;
  Type type = Type::float64;
  Index3 shape{0, 0, 0};
  bool list = false;
};

/// The position of one rank's part of a grid variable in the whole variable and in memory; all in global indices.
struct Placement {
  Index3 shape{0, 0, 0}; ///< the whole variable
  Box block;             ///< the part of this rank; may be empty
  Box memory;            ///< the range of its array: `block` and ghost points around it, which may be outside the grid
};

/// Points start, start + stride, ... of a variable, `count` in each direction: a plane, a line, every n-th point.
struct Region {
  Index3 start{0, 0, 0};
  Index3 count{0, 0, 0};
  Index3 stride{1, 1, 1};
};

/// sync: `write` uses the array before it returns. deferred: the array must not change until `end_step`.
enum class Put { sync, deferred };

/// Information about a series, or about a variable: then its name is "variable/attribute".
using Attribute = std::variant<std::string, std::int64_t, double, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;
/// A number or text that is stored once per step.
using Scalar = std::variant<double, std::int64_t, std::string>;
using Scalars = std::map<std::string, Scalar>;

/// Counts of what a series has written and read on one rank.
struct Counters {
  std::int64_t bytes_written = 0; ///< of variables, as stored
  std::int64_t bytes_read = 0;
  std::int64_t steps = 0; ///< written
};

} // namespace tailrace::io
