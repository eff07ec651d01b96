// The "simulation" of 3_restart.cpp: diffusion in x and y of a field that is shared by planes.
#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>

#include <cmath>
#include <numbers>

struct Diffusion {
  static constexpr std::int64_t nx = 48, ny = 36, nz = 8;
  const tailrace::grid::Index3 points{nx, ny, nz};
  tailrace::grid::Box mine;
  std::vector<double> u;

  explicit Diffusion(const tailrace::Communicator &world) {
    const std::int64_t first = nz * world.rank() / world.size(), last = nz * (world.rank() + 1) / world.size();
    mine = {{0, 0, first}, {nx, ny, last - first}};
    u.resize(static_cast<std::size_t>(mine.size()));
    auto value = u.begin();
    for (auto k = first; k < last; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          const double x = 2 * std::numbers::pi * i / nx, y = 2 * std::numbers::pi * j / ny;
          *value++ = static_cast<double>(1 + k) * (std::sin(x) + std::sin(4 * x) * std::cos(3 * y));
        }
  }

  void advance() {
    const std::vector<double> before = u;
    const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      return before[static_cast<std::size_t>((i + nx) % nx + nx * ((j + ny) % ny + ny * k))];
    };
    auto value = u.begin();
    for (int k = 0; k < mine.count[2]; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i)
          *value++ += 0.2 * (at(i + 1, j, k) + at(i - 1, j, k) + at(i, j + 1, k) + at(i, j - 1, k) - 4 * at(i, j, k));
  }

  tailrace::io::GridDescription grid() const {
    const double length = 2 * std::numbers::pi;
    return {.points = points, .spacing = {length / nx, length / ny, length / nz}};
  }
};
