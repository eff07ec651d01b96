#include <tailrace/io/data/block.hpp>

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace tailrace::io {

namespace {

/// A description of a few bytes must not become a list that takes all memory.
constexpr std::int64_t most_drawn = std::int64_t{1} << 20;

} // namespace

const std::vector<TypeTraits> &all_types() {
  static const std::vector<TypeTraits> all{{Type::float16, "float16", NumberKind::real, 2},
                                           {Type::float32, "float32", NumberKind::real, 4},
                                           {Type::float64, "float64", NumberKind::real, 8},
                                           {Type::int8, "int8", NumberKind::integer, 1},
                                           {Type::int16, "int16", NumberKind::integer, 2},
                                           {Type::int32, "int32", NumberKind::integer, 4},
                                           {Type::int64, "int64", NumberKind::integer, 8},
                                           {Type::uint8, "uint8", NumberKind::natural, 1},
                                           {Type::uint16, "uint16", NumberKind::natural, 2},
                                           {Type::uint32, "uint32", NumberKind::natural, 4},
                                           {Type::uint64, "uint64", NumberKind::natural, 8},
                                           {Type::boolean, "bool", NumberKind::boolean, 1},
                                           {Type::complex64, "complex64", NumberKind::complex, 8},
                                           {Type::complex128, "complex128", NumberKind::complex, 16}};
  return all;
}

const TypeTraits &traits_of(Type type) { return all_types()[static_cast<std::size_t>(type)]; }

Type type_named(const std::string &name) {
  std::vector<std::string> names;
  for (const TypeTraits &one : all_types())
    if (name == names.emplace_back(one.name))
      return one.type;
  throw InputError(fmt::format("unknown number type '{}': expected one of {}", name, fmt::join(names, ", ")));
}

void add_block(RunningChecksum &sum, const Placement &place, std::size_t size, const void *data) {
  const auto bytes = static_cast<std::int64_t>(size);
  grid::for_each_run(place.block, place.memory, [&](std::int64_t first, std::int64_t count) {
    sum.add(static_cast<const char *>(data) + first * bytes, static_cast<std::size_t>(count * bytes));
  });
}

std::vector<Box> pieces_of(const Box &box, std::int64_t most) {
  std::vector<Box> result;
  for_each_piece(box, most, [&](const Box &piece) { result.push_back(piece); });
  return result;
}

bool convertible(Type from, Type to) {
  return from == to || (is_real(to) && traits_of(from).kind != NumberKind::complex);
}

namespace {

/// IEEE 754's half precision.
struct Half {
  std::uint16_t bits;

  explicit operator double() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
    const double size = exponent == 31  ? fraction == 0 ? infinity : none
                        : exponent == 0 ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
  }
  explicit operator float() const { return static_cast<float>(static_cast<double>(*this)); }
};

template <class From, class To> void copy_as(const void *source, void *target, std::int64_t count) {
  std::transform(static_cast<const From *>(source), static_cast<const From *>(source) + count,
                 static_cast<To *>(target), [](From value) { return static_cast<To>(value); });
}

template <class To> void convert_to(Type from, const void *source, void *target, std::int64_t count) {
  switch (from) {
  case Type::float16:
    return copy_as<Half, To>(source, target, count);
  case Type::float32:
    return copy_as<float, To>(source, target, count);
  case Type::float64:
    return copy_as<double, To>(source, target, count);
  case Type::int8:
    return copy_as<std::int8_t, To>(source, target, count);
  case Type::int16:
    return copy_as<std::int16_t, To>(source, target, count);
  case Type::int32:
    return copy_as<std::int32_t, To>(source, target, count);
  case Type::int64:
    return copy_as<std::int64_t, To>(source, target, count);
  case Type::boolean: // not as bool: a file may have any byte
  case Type::uint8:
    return copy_as<std::uint8_t, To>(source, target, count);
  case Type::uint16:
    return copy_as<std::uint16_t, To>(source, target, count);
  case Type::uint32:
    return copy_as<std::uint32_t, To>(source, target, count);
  case Type::uint64:
    return copy_as<std::uint64_t, To>(source, target, count);
  default:
    throw std::logic_error(fmt::format("{} cannot become a real number", name_of(from)));
  }
}

} // namespace

void convert(Type from, const void *source, Type to, void *target, std::int64_t count) {
  if (from == to)
    std::copy_n(static_cast<const char *>(source), count * static_cast<std::int64_t>(size_of(to)),
                static_cast<char *>(target));
  else if (to == Type::float32)
    convert_to<float>(from, source, target, count);
  else
    convert_to<double>(from, source, target, count);
}

void convert_block(const Placement &place, Type from, Type to, const void *data, void *target) {
  const auto size = static_cast<std::int64_t>(size_of(from));
  char *next = static_cast<char *>(target);
  grid::for_each_run(place.block, place.memory, [&](std::int64_t first, std::int64_t count) {
    convert(from, static_cast<const char *>(data) + first * size, to, next, count);
    next += count * static_cast<std::int64_t>(size_of(to));
  });
}

namespace {

/// grid::pack_strided for the sizes of our types.
void pack_strided(std::size_t size, const Box &chosen, const Index3 &stride, const Box &box, const void *array,
                  void *packed) {
  switch (size) {
  case 1:
    return grid::pack_strided<1>(chosen, stride, box, array, packed);
  case 2:
    return grid::pack_strided<2>(chosen, stride, box, array, packed);
  case 4:
    return grid::pack_strided<4>(chosen, stride, box, array, packed);
  case 8:
    return grid::pack_strided<8>(chosen, stride, box, array, packed);
  default:
    return grid::pack_strided<16>(chosen, stride, box, array, packed);
  }
}

} // namespace

Placement place_in_region(const std::string &name, const Placement &place, const Region &region, std::size_t size,
                          const void *&data, std::vector<char> &packed) {
  const Index3 &start = region.start, &count = region.count, &stride = region.stride;
  Box part, chosen; // this rank's points: their numbers in the region; the first one in the whole
  for (int d = 0; d < 3; ++d) {
    if (stride[d] < 1 || count[d] < 1 || start[d] < 0 || start[d] + (count[d] - 1) * stride[d] >= place.shape[d])
      throw InputError(fmt::format("{}: no region starts at {}, has {} points and a stride of {} in a variable of {}",
                                   name, describe(start), describe(count), describe(stride), describe(place.shape)));
    const auto above = [&](std::int64_t edge) { // first point of the region at or after an edge of the block
      return std::clamp<std::int64_t>((edge - start[d] + stride[d] - 1) / stride[d], 0, count[d]);
    };
    part.start[d] = place.block.start[d] <= start[d] ? 0 : above(place.block.start[d]);
    const std::int64_t end = place.block.end(d) <= start[d] ? 0 : above(place.block.end(d));
    part.count[d] = std::max<std::int64_t>(0, end - part.start[d]);
    chosen.start[d] = start[d] + part.start[d] * stride[d];
  }
  if (place.block.empty() || part.empty())
    return {count, {{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
  if (stride == Index3{1, 1, 1}) {
    Box memory = place.memory;
    for (int d = 0; d < 3; ++d)
      memory.start[d] -= start[d];
    return {count, part, memory};
  }
  chosen.count = part.count;
  packed.resize(static_cast<std::size_t>(part.size()) * size);
  pack_strided(size, chosen, stride, place.memory, data, packed.data());
  data = packed.data();
  return {count, part, part};
}

std::string describe(const Box &box) {
  const auto end = [&](std::size_t d) { // also of a box that no numbers can hold
    std::int64_t sum = 0;
    return __builtin_add_overflow(box.start[d], box.count[d], &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
  };
  return fmt::format("({}:{}, {}:{}, {}:{})", box.start[0], end(0), box.start[1], end(1), box.start[2], end(2));
}

std::string describe(const Index3 &n) { return fmt::format("{} x {} x {}", n[0], n[1], n[2]); }

void check_name(const std::string &name) {
  // Engines use names as file names, HDF5 links and XML; the characters below have no special meaning in any of these.
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (!name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), plain))
    return;
  const std::string shown = json_text(nlohmann::json(name));
  throw InputError(fmt::format("'{}' cannot name a variable: expected letters, digits, '_', '-' and '.', the first one "
                               "no '.'",
                               shown.substr(1, shown.size() - 2)));
}

void check_attribute_name(const std::string &name) {
  const auto slash = name.find('/');
  check_name(name.substr(0, slash));
  if (slash != std::string::npos)
    check_name(name.substr(slash + 1));
}

void check_shape(const std::string &name, const Index3 &shape, bool list) {
  std::int64_t most = most_bytes / 8; // points
  for (std::size_t d = 0; d < 3; ++d) {
    if (shape[d] < (list && d == 1 ? 0 : 1) || shape[d] > most)
      throw InputError(fmt::format("{}: no array has the shape {} (x, y, z)", name, describe(shape)));
    most /= std::max<std::int64_t>(shape[d], 1);
  }
}

void check_placement(const std::string &name, const Placement &place, const void *data, bool list) {
  const auto &[shape, block, memory] = place;
  check_shape(name, shape, list);
  for (int d = 0; d < 3; ++d)
    for (const Box &box : {block, memory})
      if (box.count[d] < 0 || box.count[d] > most_bytes || box.start[d] < -most_bytes || box.start[d] > most_bytes)
        throw InputError(fmt::format("{}: there is no block {} (x, y, z)", name, describe(box)));
  if (block.empty())
    return;
  if (!Box{{0, 0, 0}, shape}.contains(block))
    throw InputError(
        fmt::format("{}: block {} lies outside the global shape {}", name, describe(block), describe(shape)));
  if (!memory.contains(block))
    throw InputError(fmt::format("{}: memory {} does not cover block {}", name, describe(memory), describe(block)));
  if (data == nullptr)
    throw InputError(fmt::format("{}: no data for block {}", name, describe(block)));
}

void check_grid(const GridDescription &grid) {
  check_shape("grid", grid.points);
  for (std::size_t d = 0; d < 3; ++d) {
    const auto &x = grid.coordinates[d];
    if (!x.empty() && static_cast<std::int64_t>(x.size()) != grid.points[d])
      throw InputError(fmt::format("grid: {} coordinates in {} for {} points; give one each, or none", x.size(),
                                   "xyz"[d], grid.points[d]));
    if (x.empty() && grid.stretched() && grid.points[d] > most_drawn)
      throw InputError(fmt::format("grid: {} points in {} without coordinates, beside a direction that has them; "
                                   "expected at most {}, because all are listed for programs that draw. To fix this, "
                                   "give the coordinates in {} too",
                                   grid.points[d], "xyz"[d], most_drawn, "xyz"[d]));
    for (std::size_t i = 1; i < x.size(); ++i)
      if (!(x[i - 1] < x[i]))
        throw InputError(
            fmt::format("grid: coordinate {} in {} is {}, not larger than the {} before", i, "xyz"[d], x[i], x[i - 1]));
  }
}

} // namespace tailrace::io
