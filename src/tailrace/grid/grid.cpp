#include <tailrace/grid/grid.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace tailrace::grid {

namespace {
constexpr std::array<const char *, 3> names{"periodic", "free-slip", "dirichlet"};
}

Boundary boundary_from_name(const std::string &name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i])
      return static_cast<Boundary>(i);
  throw InputError(fmt::format("boundary '{}' is unknown; choose periodic, free-slip or dirichlet", name));
}

const char *boundary_name(Boundary boundary) { return names[static_cast<std::size_t>(boundary)]; }

Grid::Grid(Index3 n, std::array<double, 3> l, std::array<Boundary, 3> b) : nodes(n), lengths(l), boundaries(b) {
  for (int d = 0; d < 3; ++d) {
    if (nodes[d] < smallest)
      throw InputError(
          fmt::format("grid has {} nodes in {}; the compact schemes need at least {}", nodes[d], "xyz"[d], smallest));
    if (!(lengths[d] > 0) || !std::isfinite(lengths[d]))
      throw InputError(fmt::format("grid length in {} is {}; expected a positive number", "xyz"[d], lengths[d]));
  }
}

Index3 Grid::cells() const {
  Index3 n;
  for (int d = 0; d < 3; ++d)
    n[d] = periodic(d) ? nodes[d] : nodes[d] - 1;
  return n;
}

std::vector<double> Grid::coordinates(int d) const {
  std::vector<double> x(nodes[d]);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<double>(i) * spacing(d);
  return x;
}

} // namespace tailrace::grid
