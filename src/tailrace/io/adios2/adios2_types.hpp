#pragma once

#include <tailrace/io/types.hpp>
#include <tailrace/support/error.hpp>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tailrace::io::bp {

/// Whether ADIOS2 has a type: all but truth values and half precision.
inline bool has_adios2(Type type) { return type != Type::float16 && type != Type::boolean; }

inline std::vector<std::string> names_of_adios2_types() {
  std::vector<std::string> names;
  for (const TypeTraits &one : all_types())
    if (has_adios2(one.type))
      names.emplace_back(one.name);
  return names;
}

/// Calls `work` with a value of the C++ type that `type` names. Throws IoError for those that ADIOS2 does not have.
template <class Work> auto with_type(Type type, Work work) {
  switch (type) {
  case Type::float32:
    return work(float{});
  case Type::float64:
    return work(double{});
  case Type::int8:
    return work(std::int8_t{});
  case Type::int16:
    return work(std::int16_t{});
  case Type::int32:
    return work(std::int32_t{});
  case Type::int64:
    return work(std::int64_t{});
  case Type::uint8:
    return work(std::uint8_t{});
  case Type::uint16:
    return work(std::uint16_t{});
  case Type::uint32:
    return work(std::uint32_t{});
  case Type::uint64:
    return work(std::uint64_t{});
  case Type::complex64:
    return work(std::complex<float>{});
  case Type::complex128:
    return work(std::complex<double>{});
  default:
    throw IoError(std::string("ADIOS2 has no type ") + name_of(type));
  }
}

/// Whether an int64 holds all values of a type.
template <class T>
constexpr bool is_whole = std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t));

} // namespace tailrace::io::bp
