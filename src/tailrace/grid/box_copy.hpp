#pragma once

#include <tailrace/grid/box.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Copies of a box of points between arrays that cover other boxes. Every `part` must lie inside the boxes named with
// it; an empty part does nothing. All functions are local.

namespace tailrace::grid {

/// Index of the first point of `part` in an array over `box`.
inline std::int64_t offset_in(const Box &box, const Box &part) {
  return part.start[0] - box.start[0] +
         box.count[0] * (part.start[1] - box.start[1] + box.count[1] * (part.start[2] - box.start[2]));
}

/// How many directions of `part`, from x on, form one run of memory in an array over `box`: 1 for rows, 2 for planes,
/// 3 for the whole part.
inline int directions_joined(const Box &part, const Box &box) {
  int joined = 1;
  while (joined < 3 && part.count[joined - 1] == box.count[joined - 1])
    ++joined;
  return joined;
}

/// Number of points in the first `directions` directions.
inline std::int64_t points_in(const Box &part, int directions) {
  std::int64_t points = part.count[0];
  for (int d = 1; d < directions; ++d)
    points *= part.count[d];
  return points;
}

/// Whether `part` is one run of memory in an array over `box`.
inline bool is_one_run(const Box &part, const Box &box) {
  return part.empty() || points_in(part, directions_joined(part, box)) == part.size();
}

/// Calls visit(index in a, index in b, length) for every run of points of `part` that follow each other both in an
/// array over `a` and in one over `b`, in the order of memory. Rows and planes that follow each other are one run.
template <class Visit> void for_each_run(const Box &part, const Box &a, const Box &b, Visit visit) {
  if (part.empty())
    return;
  const int joined = std::min(directions_joined(part, a), directions_joined(part, b));
  const std::int64_t length = points_in(part, joined);
  const std::int64_t rows = joined > 1 ? 1 : part.count[1], planes = joined > 2 ? 1 : part.count[2];
  // In local variables, which no write of `visit` can change.
  const std::int64_t row_a = a.count[0], row_b = b.count[0], plane_a = row_a * a.count[1], plane_b = row_b * b.count[1];
  std::int64_t first_a = offset_in(a, part), first_b = offset_in(b, part);
  for (std::int64_t k = 0; k < planes; ++k, first_a += plane_a, first_b += plane_b)
    for (std::int64_t j = 0; j < rows; ++j)
      visit(first_a + row_a * j, first_b + row_b * j, length);
}

/// The same for one array: calls visit(index, length).
template <class Visit> void for_each_run(const Box &part, const Box &box, Visit visit) {
  for_each_run(part, box, part, [&](std::int64_t index, std::int64_t, std::int64_t length) { visit(index, length); });
}

/// Copies `part` from an array over `from` to an array over `to`. The arrays must not overlap.
template <class T> void copy_part(const Box &part, const Box &from, const T *source, const Box &to, T *target) {
  for_each_run(part, from, to, [&](std::int64_t read, std::int64_t write, std::int64_t length) {
    std::memcpy(target + write, source + read, static_cast<std::size_t>(length) * sizeof(T));
  });
}

/// The same for values of `size` bytes.
inline void copy_part(const Box &part, std::size_t size, const Box &from, const void *source, const Box &to,
                      void *target) {
  const auto bytes = static_cast<std::int64_t>(size);
  for_each_run(part, from, to, [&](std::int64_t read, std::int64_t write, std::int64_t length) {
    std::memcpy(static_cast<char *>(target) + write * bytes, static_cast<const char *>(source) + read * bytes,
                static_cast<std::size_t>(length * bytes));
  });
}

/// Copies `part` out of an array over `box` into contiguous memory.
template <class T> void pack(const Box &part, const Box &box, const T *array, T *packed) {
  copy_part(part, box, array, part, packed);
}

/// Copies `part` from contiguous memory to its place in an array over `box`.
template <class T> void unpack(const Box &part, const T *packed, const Box &box, T *array) {
  copy_part(part, part, packed, box, array);
}

/// Copies every stride-th value of `size` bytes into contiguous memory: `chosen.count` values from the point
/// `chosen.start` on, out of an array over `box`.
template <std::size_t size>
void pack_strided(const Box &chosen, const Index3 &stride, const Box &box, const void *array, void *packed) {
  constexpr auto bytes = static_cast<std::int64_t>(size);
  const char *first = static_cast<const char *>(array) + offset_in(box, chosen) * bytes;
  char *next = static_cast<char *>(packed);
  for (std::int64_t k = 0; k < chosen.count[2]; ++k)
    for (std::int64_t j = 0; j < chosen.count[1]; ++j) {
      const char *row = first + box.count[0] * (j * stride[1] + box.count[1] * k * stride[2]) * bytes;
      for (std::int64_t i = 0; i < chosen.count[0]; ++i, next += size)
        std::memcpy(next, row + i * stride[0] * bytes, size);
    }
}

} // namespace tailrace::grid
