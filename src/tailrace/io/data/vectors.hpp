#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace tailrace::io {

/// A vector that other programs draw as arrows: its name, and the names of its components.
struct VectorNames {
  std::string name;
  std::array<std::string, 3> components;
};

/// The vector of which `first` is the first component: velocity of ux, uy, uz; A_vector of Ax, Ay, Az, of A_x, A_y, A_z
/// and of an array A with three components (A_1, A_2, A_3). `there`: whether a variable of a name exists and fits.
/// Nothing where a component is missing, or the array has more of them.
std::optional<VectorNames> vector_from(const std::string &first,
                                       const std::function<bool(const std::string &name)> &there);

} // namespace tailrace::io
