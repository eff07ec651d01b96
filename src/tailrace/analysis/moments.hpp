#pragma once

#include <tailrace/grid/box.hpp>

#include <array>
#include <vector>

namespace tailrace::analysis {

/// Running means and products of deviations of several fields at each point, by West's (1979) weighted form of
/// Welford's update: with d = x - mean, mean += share d, and product of a and b += factor d_a d_b. `products` are those
/// of (0, 0), (0, 1), ..., (1, 1), ... With weight w added to a total W: share = w / (W + w), factor = w W / (W + w).
/// One pass over memory. Local.
template <class T>
void add_sample(const std::vector<const T *> &fields, std::int64_t points, double share, double factor,
                const std::vector<double *> &means, const std::vector<double *> &products);

/// product of a and b += sum of weight d_a d_b over the directions that are not kept, with d = x - mean. `means` and
/// `products` are arrays over the kept directions, x fastest; `weights` are those of the points along x, y and z, which
/// matter in the directions that are summed over. One pass over the fields. Local.
template <class T>
void add_products(const std::vector<const T *> &fields, const grid::Index3 &count,
                  const std::array<std::vector<double>, 3> &weights, const std::array<bool, 3> &kept,
                  const std::vector<const double *> &means, const std::vector<double *> &products);

} // namespace tailrace::analysis
