#include <tailrace/io/data/vectors.hpp>

#include <algorithm>

namespace tailrace::io {

namespace {

constexpr std::array<std::array<const char *, 3>, 3> endings{{{"_x", "_y", "_z"}, {"_1", "_2", "_3"}, {"x", "y", "z"}}};

} // namespace

std::optional<VectorNames> vector_from(const std::string &first,
                                       const std::function<bool(const std::string &name)> &there) {
  const auto ending = std::ranges::find_if(
      endings, [&](const auto &one) { return first.size() > std::string(one[0]).size() && first.ends_with(one[0]); });
  if (ending == endings.end())
    return std::nullopt;
  const std::string base = first.substr(0, first.size() - std::string((*ending)[0]).size());
  VectorNames found{base == "u" ? "velocity" : base + "_vector", {}};
  for (std::size_t c = 0; c < 3; ++c)
    found.components[c] = base + (*ending)[c];
  const bool longer = (*ending)[0] == std::string("_1") && there(base + "_4"); // an array with more components
  if (longer || !std::ranges::all_of(found.components, there))
    return std::nullopt;
  return found;
}

} // namespace tailrace::io
