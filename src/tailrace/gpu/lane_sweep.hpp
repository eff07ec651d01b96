#pragma once

#include <tailrace/device/launch.hpp>
#include <tailrace/gpu/stages.hpp>
#include <tailrace/grid/box.hpp>

#include <algorithm>
#include <array>

namespace tailrace::gpu {

/// How a field lies in memory: x contiguous, without gaps.
struct Layout {
  grid::Index3 shape;
  std::int64_t row, plane; ///< values from row to row, and from plane to plane
  explicit Layout(const grid::Index3 &of) : shape(of), row(of[0]), plane(of[0] * of[1]) {}
  std::int64_t size() const { return grid::product(shape); }
};

// What is done with result k of a stage, which belongs to place `at` of the output.
template <class T> struct Store {
  T *out[3];
  TAILRACE_LANES void operator()(int k, std::int64_t at, T value) const { out[k][at] = value; }
};
template <class T> struct Add {
  T *out[3];
  TAILRACE_LANES void operator()(int k, std::int64_t at, T value) const { out[k][at] += value; }
};
template <class T> struct Subtract {
  T *out[3];
  TAILRACE_LANES void operator()(int k, std::int64_t at, T value) const { out[k][at] -= value; }
};

namespace detail {

/// Lines along y or z that a block takes at once, a warp each: so many neighbours in memory are one request. Of the
/// longest ones half as many have room in a block of all cards from the A100 on.
template <class T, int rows> inline constexpr int columns_of_block = rows * sizeof(T) > 17 * sizeof(double) ? 4 : 8;
/// Lines along x, which are contiguous.
inline constexpr int rows_of_block = 4;

/// Lines of neighbouring warps begin in different banks.
template <class T, int rows> inline constexpr int line_room = PaddedLine<T, rows>::room + 128 / sizeof(T) / 8;

template <class T, int rows, class Stage, class Finish> struct Columns {
  static constexpr int columns = columns_of_block<T, rows>, threads = columns * ops::warp_lanes,
                       room = line_room<T, rows>;
  static constexpr std::size_t bytes = std::size_t{Stage::buffers} * columns * room * sizeof(T);
  Stage stage;
  Finish finish;
  const T *in[3];
  int width, points_in, points_out;                        ///< of lines in x, and along them
  std::int64_t across_in, along_in, across_out, along_out; ///< from block to block in y, and from point to point

  TAILRACE_LANES void operator()(device::Place place, void *shared) const {
    using Block = ops::Block<threads>;
    T *const memory = static_cast<T *>(shared); // [buffer][column][point]
    const int x = place.x * columns, used = width - x < columns ? width - x : columns;
    const std::int64_t from = place.y * across_in + x, to = place.y * across_out + x;
    Block::each([&](int thread) {
      const int column = thread % columns;
      if (column >= used)
        return;
      TAILRACE_UNROLL
      for (int k = 0; k < Stage::inputs; ++k) {
        const PaddedLine<T, rows> line(memory + (k * columns + column) * room);
        for (int j = thread / columns; j < points_in; j += ops::warp_lanes)
          line[j] = in[k][from + column + j * along_in];
      }
    });
    Block::sync();
    Block::each_warp([&](int warp) {
      if (warp < used)
        stage(LineMemory<T, rows>{memory + warp * room, columns * room});
    });
    Block::sync();
    Block::each([&](int thread) {
      const int column = thread % columns;
      if (column >= used)
        return;
      TAILRACE_UNROLL
      for (int k = 0; k < Stage::outputs; ++k) {
        const PaddedLine<T, rows> line(memory + (k * columns + column) * room);
        for (int j = thread / columns; j < points_out; j += ops::warp_lanes)
          finish(k, to + column + j * along_out, line[j]);
      }
    });
  }
};

/// Common to the kernels of lines along x: a warp has a line, and loads and stores it alone.
template <class T, int rows, int buffers> struct RowBlock {
  static constexpr int lines = rows_of_block, threads = lines * ops::warp_lanes, room = line_room<T, rows>;
  static constexpr std::size_t bytes = std::size_t{buffers} * lines * room * sizeof(T);
  int count_y, count; ///< rows of a plane, and in all

  /// Calls visit(lines, y, z) for the line of each warp.
  template <class Visit> TAILRACE_LANES void each_line(device::Place place, void *shared, const Visit &visit) const {
    ops::Block<threads>::each_warp([&](int warp) {
      const int number = place.x * lines + warp;
      if (number < count)
        visit(LineMemory<T, rows>{static_cast<T *>(shared) + warp * buffers * room, room}, number % count_y,
              number / count_y);
    });
  }
};

template <class T, int rows> TAILRACE_LANES void load_row(const PaddedLine<T, rows> &line, const T *in, int points) {
  Warp::each([&](int lane) {
    for (int j = lane; j < points; j += ops::warp_lanes)
      line[j] = in[j];
  });
}

template <class T, int rows, class Stage, class Finish> struct Rows {
  using Lines = RowBlock<T, rows, Stage::buffers>;
  Lines lines;
  Stage stage;
  Finish finish;
  const T *in[3];
  int points_in, points_out;
  std::int64_t row_in, plane_in, row_out, plane_out;

  TAILRACE_LANES void operator()(device::Place place, void *shared) const {
    lines.each_line(place, shared, [&](const LineMemory<T, rows> &memory, int y, int z) {
      TAILRACE_UNROLL
      for (int k = 0; k < Stage::inputs; ++k)
        load_row(memory[k], in[k] + y * row_in + z * plane_in, points_in);
      Warp::sync();
      stage(memory);
      Warp::sync();
      Warp::each([&](int lane) {
        TAILRACE_UNROLL
        for (int k = 0; k < Stage::outputs; ++k)
          for (int j = lane; j < points_out; j += ops::warp_lanes)
            finish(k, y * row_out + z * plane_out + j, memory[k][j]);
      });
    });
  }
};

} // namespace detail

/// Whether kernels are compiled for so many rows of a lane. On the processor they are for tests, and few numbers do.
constexpr bool is_compiled(int rows) {
#ifdef __CUDACC__
  return rows > 0;
#else
  return rows == 1 || rows == 2 || rows == 8 || rows == ops::most_rows_per_lane;
#endif
}

/// The least of them for lines of so many points; see ops::rows_per_lane.
inline int rows_for(std::int64_t points) {
  const int least = ops::rows_per_lane(points);
  return *std::ranges::find_if(ops::row_counts, [&](int rows) { return rows >= least && is_compiled(rows); });
}

/// Calls visit(rows) with that number as a constant.
template <class Visit> void with_rows(std::int64_t points, const Visit &visit) {
  ops::with_rows_per_lane(rows_for(points), [&](auto rows) {
    if constexpr (is_compiled(decltype(rows)::value))
      visit(rows);
  });
}

/// Runs a stage on all lines along y (direction 1) or z (2) of up to three fields.
template <class T, class Stage, class Finish>
void sweep_columns(const device::Stream &stream, int direction, const Layout &from, const Layout &into,
                   const Stage &stage, const std::array<const T *, 3> &in, const Finish &finish) {
  const auto d = static_cast<std::size_t>(direction), other = 3 - d;
  with_rows(std::max(from.shape[d], into.shape[d]), [&](auto rows) {
    using Body = detail::Columns<T, rows, Stage, Finish>;
    const bool along_y = direction == 1;
    Body body{stage,
              finish,
              {in[0], in[1], in[2]},
              static_cast<int>(from.shape[0]),
              static_cast<int>(from.shape[d]),
              static_cast<int>(into.shape[d]),
              along_y ? from.plane : from.row,
              along_y ? from.row : from.plane,
              along_y ? into.plane : into.row,
              along_y ? into.row : into.plane};
    const int across = static_cast<int>((from.shape[0] + Body::columns - 1) / Body::columns);
    device::launch<Body::threads>(stream, {across, static_cast<int>(from.shape[other])}, Body::bytes, body);
  });
}

/// The same on all lines along x.
template <class T, class Stage, class Finish>
void sweep_rows(const device::Stream &stream, const Layout &from, const Layout &into, const Stage &stage,
                const std::array<const T *, 3> &in, const Finish &finish) {
  with_rows(std::max(from.shape[0], into.shape[0]), [&](auto rows) {
    using Body = detail::Rows<T, rows, Stage, Finish>;
    const int count_y = static_cast<int>(from.shape[1]), count = count_y * static_cast<int>(from.shape[2]);
    Body body{{count_y, count},
              stage,
              finish,
              {in[0], in[1], in[2]},
              static_cast<int>(from.shape[0]),
              static_cast<int>(into.shape[0]),
              from.row,
              from.plane,
              into.row,
              into.plane};
    const int blocks = (count + Body::Lines::lines - 1) / Body::Lines::lines;
    device::launch<Body::Lines::threads>(stream, {blocks, 1}, Body::Lines::bytes, body);
  });
}

} // namespace tailrace::gpu
