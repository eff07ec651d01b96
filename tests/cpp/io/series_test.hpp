#pragma once
// Shared code of the tests of a series: arrays whose values depend on their position, and a test class for all engines.

#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include <tailrace/io/series.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

inline constexpr Index3 points{17, 12, 9};
inline constexpr Index3 centres{16, 11, 8};

inline double value(std::int64_t i, std::int64_t j, std::int64_t k, double salt = 0) {
  return static_cast<double>(i) + 100.0 * static_cast<double>(j) + 10000.0 * static_cast<double>(k) + salt;
}

/// The part of a rank (a pencil along x) if y and z are split unevenly.
inline Box pencil(const Index3 &n, int rank, int size) {
  int rows = 1;
  for (int r = 2; r * r <= size; ++r)
    if (size % r == 0)
      rows = r;
  const int columns = size / rows;
  const auto part = [](std::int64_t total, int parts, int which) {
    // The split is uneven on purpose: the first part is one point larger than its share.
    const auto edge = [&](int p) { return p == 0 ? 0 : p == parts ? total : std::min(total, total * p / parts + 1); };
    return std::pair{edge(which), edge(which + 1) - edge(which)};
  };
  const auto [y, ny] = part(n[1], rows, rank % rows);
  const auto [z, nz] = part(n[2], columns, rank / rows);
  return {{0, y, z}, {n[0], ny, nz}};
}

/// Slabs along x. If there are more ranks than points, some ranks get an empty slab.
inline Box slab(const Index3 &n, int rank, int size) {
  const std::int64_t begin = n[0] * rank / size, end = n[0] * (rank + 1) / size;
  return {{begin, 0, 0}, {end - begin, n[1], n[2]}};
}

inline Box with_ghosts(Box box, std::int64_t width) {
  for (int d = 0; d < 3; ++d) {
    box.start[d] -= width;
    box.count[d] += 2 * width;
  }
  return box;
}

/// An array over `memory` with the values for `block` inside and invalid values around them.
template <class T> std::vector<T> filled(const Box &memory, const Box &block, double salt) {
  std::vector<T> data;
  for (std::int64_t k = memory.start[2]; k < memory.end(2); ++k)
    for (std::int64_t j = memory.start[1]; j < memory.end(1); ++j)
      for (std::int64_t i = memory.start[0]; i < memory.end(0); ++i)
        data.push_back(static_cast<T>(block.contains({{i, j, k}, {1, 1, 1}}) ? value(i, j, k, salt) : -7777.0));
  return data;
}

class SeriesTest : public testing::TestWithParam<std::string> {
protected:
  std::string path(const std::string &name = "run") const { return folder + "/" + name + io_suffix(engine()); }
  static std::string engine() { return io_configuration(GetParam()).engine; }
  Options options() const {
    Options result;
    result.engine = engine();
    result.parameters = io_configuration(GetParam()).parameters;
    result.grid = GridDescription{points, {0.5, -1, 2}, {0.1, 0.2, 0.3}};
    return result;
  }
  template <class T>
  void write(Series &series, const std::string &name, const Index3 &n, double salt, std::int64_t ghosts = 0) {
    const Box block = pencil(n, comm.rank(), comm.size()), memory = with_ghosts(block, ghosts);
    auto data = filled<T>(memory, block, salt);
    series.write(name, data.data(), {n, block, memory});
    std::fill(data.begin(), data.end(), T{-1}); // write() must have copied the values already
  }
  void write_steps(Series &series, std::int64_t first, std::int64_t last, double salt = 0) {
    for (std::int64_t step = first; step <= last; ++step) {
      series.begin_step(10 * step, 0.5 * static_cast<double>(step));
      write<double>(series, "ux", points, salt + 0.25 * static_cast<double>(step), 2);
      series.end_step();
    }
  }
  template <class T>
  void expect(const Series &series, std::size_t step, const std::string &name, const Box &box, double salt) {
    std::vector<T> data(static_cast<std::size_t>(box.size()), T{-5});
    series.read(step, name, box, data.data());
    EXPECT_EQ(data, filled<T>(box, box, salt)) << name << " in step " << step;
  }
  Communicator comm{MPI_COMM_WORLD};
  test::SharedFolder made;
  const std::string &folder = made;
};

/// Every engine that stores steps permanently, in every configuration that writes differently.
inline const auto lasting_engines = testing::ValuesIn(
    io_built({"raw", "raw_dist", "raw_node", "raw_collect", "raw_collect_xy", "raw_two", "raw_plane_files", "mpiio",
              "mpiio_collective", "mpiio_small", "hdf5", "adios_hdf5", "bp4", "bp5", "sion"}));

inline std::string engine_name(const testing::TestParamInfo<std::string> &parameter) { return parameter.param; }

} // namespace tailrace::io
