#pragma once

#include <tailrace/grid/box.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tailrace {
class ExactSum;
}

namespace tailrace::ops {

/// out[p] = a[p] b[p] + c[p] d[p] + ... for each of `size` points, in one pass. `out` may be one of the inputs. Throws
/// InputError unless there are 1 to 9 pairs. Local.
template <class T>
void sum_of_products(const std::vector<std::pair<const T *, const T *>> &pairs, std::int64_t size, T *out);

/// Weights of a block's points, one per point and direction x, y, z; the weight of a point is their product.
using Weights = std::array<std::vector<double>, 3>;

/// Adds weight times value at each of a block of `count` points to `sum`, in double precision. The sum does not depend
/// on how ranks share the points if each has whole rows along x. Local.
template <class T> void add_weighted(ExactSum &sum, const Weights &weights, const grid::Index3 &count, const T *values);

/// The same where the weighted sums along x are known, row by row.
void add_rows(ExactSum &sum, const Weights &weights, const std::vector<double> &rows);

/// The same for the sum of the products of `pairs` at each point, which is not stored. Throws InputError unless there
/// are 1 to 9 pairs. Local.
template <class T>
void add_weighted(ExactSum &sum, const Weights &weights, const grid::Index3 &count,
                  const std::vector<std::pair<const T *, const T *>> &pairs);

} // namespace tailrace::ops
