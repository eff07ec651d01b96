#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/grid/lines.hpp>
#include <tailrace/ops/line_solver.hpp>

#include <array>

namespace tailrace::ops {

/// Bundles per tile: four registers of neighbouring columns are one or more whole cache lines wide, which makes strided
/// sweeps fetch whole lines and touch each page less often.
inline constexpr int tile_bundles = 4;

/// Distance of rows, in bytes, beyond which two tiles are loaded at a time: each visit of a row costs an entry of the
/// page table, and where the distance is a power of two, all rows share a few sets of the caches.
inline constexpr std::int64_t far_apart = 4096;

/// A tile of lines in cache. `in[k][b]` is point 0 of bundle b of input k, with line_ghosts points of room on either
/// side; `out[k][b]` likewise without ghosts.
template <class T, int inputs, int outputs> struct Tile {
  Vec<T> *in[inputs][tile_bundles];
  Vec<T> *out[outputs][tile_bundles];
  int bundles; ///< bundles in use, the first ones
  /// Where the next tile's input and this tile's output are, as offsets into the arrays; row j is `step` * j further.
  std::int64_t next_in, step_in, this_out, step_out;
};

/// Scratch of one thread, kept between sweeps.
template <class T> inline Vec<T> *tile_memory(std::int64_t vectors) {
  thread_local grid::Buffer<T> memory;
  const std::int64_t size = vectors * lanes<T>;
  if (memory.size() < size)
    memory = grid::Buffer<T>(size);
  return reinterpret_cast<Vec<T> *>(memory.data());
}

namespace detail {
/// Tells an access the place of the next one, if it has a function for that.
template <class Access> inline void announce(const Access &access, int k, std::int64_t offset) {
  if constexpr (requires { access.announce(k, offset); })
    access.announce(k, offset);
}
} // namespace detail

namespace detail {

template <class T, int inputs, int outputs, int count>
std::array<Tile<T, inputs, outputs>, count> make_tiles(std::int64_t points_in, std::int64_t points_out) {
  std::array<Tile<T, inputs, outputs>, count> tiles{};
  // Bodies transform lines in place between the two lengths. Bundles lie an odd number of vectors apart, so that equal
  // points of different bundles do not fall on the same cache sets.
  const std::int64_t points = std::max(points_in, points_out);
  const std::int64_t room_in = (points + 2 * line_ghosts) | 1, room_out = points | 1;
  Vec<T> *at = tile_memory<T>(count * tile_bundles * (inputs * room_in + outputs * room_out));
  for (auto &tile : tiles) {
    for (auto &input : tile.in)
      for (auto &bundle : input) {
        bundle = at + line_ghosts;
        at += room_in;
      }
    for (auto &output : tile.out)
      for (auto &bundle : output) {
        bundle = at;
        at += room_out;
      }
  }
  return tiles;
}

/// Rows r .. r + rows of a row-major matrix become the lanes of `bundle`; missing rows repeat the last.
template <class T>
[[gnu::always_inline]] inline void load_rows(const T *matrix, std::int64_t row, int rows, std::int64_t points,
                                             Vec<T> *bundle) {
  constexpr int W = lanes<T>;
  const T *start[W];
  for (int i = 0; i < W; ++i)
    start[i] = matrix + (row + std::min(i, rows - 1)) * points;
  std::int64_t j = 0;
  for (; j + W <= points; j += W) {
    Vec<T> square[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
      square[i] = load(start[i] + j);
      __builtin_prefetch(start[i] + j + W * points, 0, 2); // the hardware does not prefetch so many rows at a time
    }
    transpose_square<T>(square);
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i)
      bundle[j + i] = square[i];
  }
  for (; j < points; ++j)
    for (int i = 0; i < W; ++i)
      bundle[j][i] = start[i][j];
}

/// The reverse: hands runs of up to a register of each row to finish(offset, values, count).
template <class T, class Finish>
inline void finish_rows(const Vec<T> *bundle, std::int64_t row, int rows, std::int64_t points, Finish finish) {
  constexpr int W = lanes<T>;
  for (std::int64_t j = 0; j < points; j += W) {
    const int count = static_cast<int>(std::min<std::int64_t>(W, points - j));
    Vec<T> square[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i)
      square[i] = i < count ? bundle[j + i] : Vec<T>{};
    transpose_square<T>(square);
    if (rows == W && count == W) [[likely]] {
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i)
        finish((row + i) * points + j, square[i], W);
      continue;
    }
    for (int i = 0; i < rows; ++i)
      finish((row + i) * points + j, square[i], count);
  }
}

template <class T, int inputs, int outputs, class Body, class Finish>
void sweep_rows(std::int64_t rows, std::int64_t points_in, std::int64_t points_out,
                const std::array<const T *, inputs> &in, Body &body, Finish &finish) {
  constexpr int W = lanes<T>;
  auto [tile] = make_tiles<T, inputs, outputs, 1>(points_in, points_out);
  const auto rows_of = [&](std::int64_t r, int b) {
    return static_cast<int>(std::clamp<std::int64_t>(rows - r - b * W, 0, W));
  };
  for (std::int64_t r = 0; r < rows; r += tile_bundles * W) {
    for (tile.bundles = 0; tile.bundles < tile_bundles && rows_of(r, tile.bundles) > 0; ++tile.bundles) {
      const int b = tile.bundles;
      for (int k = 0; k < inputs; ++k)
        load_rows(in[k], r + b * W, rows_of(r, b), points_in, tile.in[k][b]);
    }
    tile.next_in = (r + tile_bundles * W) * points_in;
    tile.this_out = r * points_out;
    tile.step_in = tile.step_out = tile_bundles * W; // rows follow each other, so any piece of the same size serves
    body(tile);
    for (int b = 0; b < tile.bundles; ++b)
      for (int k = 0; k < outputs; ++k)
        finish_rows<T>(tile.out[k][b], r + b * W, rows_of(r, b), points_out,
                       [&](std::int64_t offset, Vec<T> v, int count) {
                         announce(finish, k, offset + W * points_out);
                         finish(k, offset, v, count);
                       });
  }
}

} // namespace detail

/// The simplest finish: output k is stored in array k. Strided stores wait for their cache lines, so sweeps prefetch
/// them.
template <class T, int outputs> struct StoreTo {
  std::array<T *, outputs> out;
  void operator()(int k, std::int64_t offset, Vec<T> v, int count) const { store(out[k] + offset, v, count); }
  void announce(int k, std::int64_t offset) const { __builtin_prefetch(out[k] + offset, 1, 2); }
};

/// The same, but adds to the values in the array.
template <class T, int outputs> struct AddTo {
  std::array<T *, outputs> out;
  void operator()(int k, std::int64_t offset, Vec<T> v, int count) const {
    store(out[k] + offset, load(out[k] + offset, count) + v, count);
  }
  void announce(int k, std::int64_t offset) const { __builtin_prefetch(out[k] + offset, 1, 2); }
};

/// Likewise for reading.
template <class T, int inputs> struct LoadFrom {
  std::array<const T *, inputs> in;
  Vec<T> operator()(int k, std::int64_t offset, int count) const { return load(in[k] + offset, count); }
  void announce(int k, std::int64_t offset) const { __builtin_prefetch(in[k] + offset, 0, 2); }
};

/// As `sweep`, for lines with neighbours in memory, of arrays that may have different strides: reads through
/// load(input, offset, count), where offset is into arrays laid out as `from`, and finishes into arrays laid out as
/// `into`. `tiles_abreast` tiles are loaded together and passed on together.
template <class T, int inputs, int outputs, int tiles_abreast = 1, class Load, class Body, class Finish>
void sweep_columns(const grid::Lines &from, const grid::Lines &into, Load load_columns, Body &&body, Finish &&finish) {
  constexpr int W = lanes<T>, most = tiles_abreast * tile_bundles;
  constexpr std::int64_t ahead = 8; // rows; enough to hide the latency of memory
  auto tiles = detail::make_tiles<T, inputs, outputs, tiles_abreast>(from.points, into.points);
  // Columns c to `end` of a row. whole: tiles are full, no lane is left out.
  const auto visit = [&](auto whole, std::int64_t o, std::int64_t c, std::int64_t end) {
    constexpr bool full = decltype(whole)::value;
    const std::int64_t columns = full ? most * W : end - c;
    const int bundles = full ? most : static_cast<int>((columns + W - 1) / W);
    const auto lanes_of = [&](int b) {
      return full ? W : static_cast<int>(std::min<std::int64_t>(W, columns - b * W));
    };
    // From here to the next columns, or to the first ones of the next lines.
    const std::int64_t next = c + most * W < from.inner ? most * W : from.points * from.stride - c;
    for (int k = 0; k < inputs; ++k)
      for (std::int64_t j = 0; j < from.points; ++j) {
        const std::int64_t row = (o * from.points + j) * from.stride + c;
#pragma GCC unroll 8
        for (int b = 0; b < bundles; ++b) {
          tiles[b / tile_bundles].in[k][b % tile_bundles][j] = load_columns(k, row + b * W, lanes_of(b));
          detail::announce(load_columns, k, row + b * W + next);
        }
      }
    for (int t = 0; t * tile_bundles < bundles; ++t) {
      auto &tile = tiles[t];
      const std::int64_t first = c + t * tile_bundles * W;
      tile.bundles = std::min(tile_bundles, bundles - t * tile_bundles);
      tile.next_in = o * from.points * from.stride + first + next;
      tile.step_in = from.stride;
      tile.this_out = o * into.points * into.stride + first;
      tile.step_out = into.stride;
      body(tile);
    }
    for (std::int64_t j = 0; j < into.points; ++j)
      for (int k = 0; k < outputs; ++k) {
        const std::int64_t row = (o * into.points + j) * into.stride + c;
#pragma GCC unroll 8
        for (int b = 0; b < bundles; ++b) {
          detail::announce(finish, k, row + b * W + ahead * into.stride);
          finish(k, row + b * W, tiles[b / tile_bundles].out[k][b % tile_bundles][j], lanes_of(b));
        }
      }
  };
  const std::int64_t row = from.row > 0 ? from.row : from.inner;
  for (std::int64_t o = 0; o < from.outer; ++o)
    for (std::int64_t c = 0, end = row; c < from.inner; end += row) {
      for (; c + most * W <= end; c += most * W)
        visit(std::true_type{}, o, c, end);
      if (c < end)
        visit(std::false_type{}, o, c, end);
      c = end;
    }
}

/// Visits every line of a block in tiles: loads `in` (arrays of lines.outer x lines.points x lines.stride), calls
/// body(tile), which fills the outputs of `points_out` per line, and passes those on as finish(output, offset, values,
/// count), where offset is into arrays of outer x points_out x stride. A whole tile is read before any of it is passed
/// on, so results may replace their own inputs. Local.
template <class T, int inputs, int outputs, class Body, class Finish>
void sweep(const grid::Lines &lines, std::int64_t points_out, const std::array<const T *, inputs> &in, Body body,
           Finish finish) {
  if (lines.outer * lines.inner == 0)
    return;
  if (lines.stride == 1)
    detail::sweep_rows<T, inputs, outputs>(lines.outer, lines.points, points_out, in, body, finish);
  else if (lines.stride * static_cast<std::int64_t>(sizeof(T)) < far_apart)
    sweep_columns<T, inputs, outputs>(lines, lines.with_points(points_out), LoadFrom<T, inputs>{in}, body, finish);
  else
    sweep_columns<T, inputs, outputs, 2>(lines, lines.with_points(points_out), LoadFrom<T, inputs>{in}, body, finish);
}

/// Ghosts for input k of every bundle in use.
template <class T, int inputs, int outputs>
inline void fill_ghosts(Tile<T, inputs, outputs> &tile, int k, std::int64_t points, const grid::Sides &sides,
                        Parity parity, bool at_centres) {
  for (int b = 0; b < tile.bundles; ++b)
    fill_ghosts<T>(tile.in[k][b], points, sides, parity, at_centres);
}

/// Solves the system for lines `from` into lines `into`, every bundle in use; four at once when the tile is full.
template <class T, class Fetch = FetchNothing>
inline void solve_tile(const LineSystem<T> &system, Vec<T> *const (&from)[tile_bundles],
                       Vec<T> *const (&into)[tile_bundles], int bundles, const Fetch &fetch = {}) {
  if (bundles == tile_bundles) {
    const Vec<T> *f[tile_bundles] = {from[0], from[1], from[2], from[3]};
    solve_lines<T, tile_bundles>(system, f, into, fetch);
    return;
  }
  for (int b = 0; b < bundles; ++b) {
    const Vec<T> *f[1] = {from[b]};
    Vec<T> *x[1] = {into[b]};
    solve_lines<T, 1>(system, f, x);
  }
}

} // namespace tailrace::ops
