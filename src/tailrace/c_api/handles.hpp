#pragma once
// Helpers that all functions of tailrace.h share. Not for callers.

#include <tailrace/c_api/tailrace.h>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

struct tailrace_decomposition {
  tailrace::grid::Decomposition decomposition;
};

struct tailrace_series {
  tailrace::io::Options options;       ///< for the next open
  tailrace::io::Attributes box;        ///< of the grid, which the next open sets
  tailrace::io::Attributes attributes; ///< of the caller, which the next open sets
  std::optional<tailrace::io::Series> open;
  mutable std::string text; ///< the text that a function returned last
};

namespace tailrace::c_api {

using grid::Box;
using grid::Index3;

/// Stores the text of an error for tailrace_error_text, behind the name of the function, and returns the status.
int failed(const char *function, int status, const char *text);

/// Converts an exception to a status and stores its text, because no exception may leave a C function.
template <class Work> int guarded(const char *function, Work work) noexcept {
  try {
    work();
    return TAILRACE_OK;
  } catch (const InputError &error) {
    return failed(function, TAILRACE_INPUT_ERROR, error.what());
  } catch (const IoError &error) {
    return failed(function, TAILRACE_IO_ERROR, error.what());
  } catch (const std::filesystem::filesystem_error &error) {
    return failed(function, TAILRACE_IO_ERROR, file_error(error).what());
  } catch (const std::exception &error) {
    return failed(function, TAILRACE_OTHER_ERROR, error.what());
  } catch (...) {
    return failed(function, TAILRACE_OTHER_ERROR, "unknown error");
  }
}

template <class T> T &not_null(T *pointer, const char *what) {
  if (pointer == nullptr)
    throw InputError(fmt::format("{} is a null pointer", what));
  return *pointer;
}

/// Stores a number for the caller, unless the pointer is null.
template <class T, class Number> void give(T *wanted, Number found) {
  if (wanted != nullptr)
    *wanted = found;
}

/// NULL becomes an empty text. Series refuses an empty name on all ranks together.
inline std::string text(const char *given) { return given ? given : ""; }

inline tailrace_series &closed(tailrace_series *series) {
  if (not_null(series, "series").open)
    throw InputError(fmt::format("{} is open; close it first", series->open->path()));
  return *series;
}

template <class Handle> auto &opened(Handle *series) {
  if (series == nullptr || !series->open) // Fortran has no handle before the first call
    throw InputError("the series is not open; open it first");
  return *series->open;
}

/// Extends one to three numbers of the caller to three; missing directions get `absent`.
inline Index3 three(int dimensions, const int64_t *given, std::int64_t absent, const char *what) {
  if (dimensions < 1 || dimensions > 3)
    throw InputError(fmt::format("expected 1 to 4 dimensions (1 to 3 to declare one), found {}", dimensions));
  not_null(given, what);
  Index3 result{absent, absent, absent};
  for (int d = 0; d < dimensions; ++d)
    result[d] = given[d];
  return result;
}

inline std::size_t position(int64_t step) {
  if (step < 0)
    throw InputError(fmt::format("there is no step number {}: steps count from 0", step));
  return static_cast<std::size_t>(step);
}

/// The number of a type in tailrace.h.
inline int number_of(io::Type type) {
  const io::TypeTraits &traits = io::traits_of(type);
  const int bytes = static_cast<int>(traits.bytes);
  switch (traits.kind) {
  case io::NumberKind::real:
    return bytes;
  case io::NumberKind::integer:
    return -bytes;
  case io::NumberKind::natural:
    return -100 - bytes;
  default:
    return 100 + bytes;
  }
}

inline io::Type type_of(const char *name, int type) {
  for (const io::TypeTraits &one : io::all_types())
    if (number_of(one.type) == type)
      return one.type;
  throw InputError(fmt::format("{}: unknown type {}: expected one of tailrace_type in tailrace.h, as TAILRACE_FLOAT64 "
                               "(8) or TAILRACE_INT32 (-4)",
                               text(name), type));
}

/// Returns a text to the caller; the text belongs to the series.
inline void hand_out(const tailrace_series *series, std::string what, const char **result) {
  not_null(result, "text");
  series->text = std::move(what);
  *result = series->text.c_str();
}

} // namespace tailrace::c_api
