#include <tailrace/io/block.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace tailrace::io {

Type type_named(const std::string &name) {
  for (const Type type : {Type::float32, Type::float64})
    if (name == name_of(type))
      return type;
  throw InputError(fmt::format("unknown number type '{}': expected float32 or float64", name));
}

namespace {

/// Calls `visit` with the address of every row of the block, in logical order. Rows that touch come as one.
template <class Visit> void for_each_row(const Placement &place, std::size_t size, const void *data, Visit visit) {
  const auto &[shape, block, memory] = place;
  if (block.empty())
    return;
  const auto bytes = static_cast<std::int64_t>(size);
  const char *base = static_cast<const char *>(data);
  if (block == memory)
    return visit(base, block.size());
  for (std::int64_t k = block.start[2]; k < block.end(2); ++k)
    for (std::int64_t j = block.start[1]; j < block.end(1); ++j) {
      const std::int64_t row = (j - memory.start[1]) + memory.count[1] * (k - memory.start[2]);
      visit(base + (block.start[0] - memory.start[0] + memory.count[0] * row) * bytes, block.count[0]);
    }
}

} // namespace

RunningChecksum::RunningChecksum()
    : state_(XXH64_createState(), [](void *state) { XXH64_freeState(static_cast<XXH64_state_t *>(state)); }) {
  XXH64_reset(static_cast<XXH64_state_t *>(state_.get()), 0);
}

void RunningChecksum::add(const void *data, std::size_t bytes) {
  XXH64_update(static_cast<XXH64_state_t *>(state_.get()), data, bytes);
}

std::string RunningChecksum::text() const {
  return fmt::format("{:016x}", XXH64_digest(static_cast<const XXH64_state_t *>(state_.get())));
}

std::string checksum(const Placement &place, std::size_t size, const void *data) {
  RunningChecksum sum;
  for_each_row(place, size, data,
               [&](const char *row, std::int64_t count) { sum.add(row, static_cast<std::size_t>(count) * size); });
  return sum.text();
}

std::vector<Box> pieces_of(const Box &box, std::int64_t most) {
  std::vector<Box> result;
  if (box.empty())
    return result;
  const std::int64_t rows = std::max<std::int64_t>(1, most / box.count[0]);
  const std::int64_t planes = std::max<std::int64_t>(1, rows / box.count[1]);
  for (std::int64_t k = box.start[2]; k < box.end(2); k += planes)
    for (std::int64_t j = box.start[1]; j < box.end(1); j += rows)
      result.push_back(
          {{box.start[0], j, k}, {box.count[0], std::min(rows, box.end(1) - j), std::min(planes, box.end(2) - k)}});
  return result;
}

void convert(Type from, const void *source, Type to, void *target, std::int64_t count) {
  if (from == to)
    std::copy_n(static_cast<const char *>(source), count * static_cast<std::int64_t>(size_of(to)),
                static_cast<char *>(target));
  else if (from == Type::float64)
    std::transform(static_cast<const double *>(source), static_cast<const double *>(source) + count,
                   static_cast<float *>(target), [](double value) { return static_cast<float>(value); });
  else
    std::copy_n(static_cast<const float *>(source), count, static_cast<double *>(target));
}

std::vector<char> convert_block(const Placement &place, Type from, Type to, const void *data) {
  std::vector<char> result(static_cast<std::size_t>(place.block.size()) * size_of(to));
  char *target = result.data();
  for_each_row(place, size_of(from), data, [&](const char *row, std::int64_t count) {
    convert(from, row, to, target, count);
    target += count * static_cast<std::int64_t>(size_of(to));
  });
  return result;
}

std::string describe(const Box &box) {
  return fmt::format("({}:{}, {}:{}, {}:{})", box.start[0], box.end(0), box.start[1], box.end(1), box.start[2],
                     box.end(2));
}

std::string describe(const Index3 &n) { return fmt::format("{} x {} x {}", n[0], n[1], n[2]); }

void check_name(const std::string &name) {
  // The engines turn names into file names, HDF5 links and XML; the letters below mean themselves in all of them.
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  };
  if (name.empty() || name[0] == '.' || !std::all_of(name.begin(), name.end(), plain))
    throw InputError(fmt::format("'{}' cannot name a variable: expected letters, digits, '_', '-' and '.'", name));
}

void check_placement(const std::string &name, const Placement &place, const void *data) {
  const auto &[shape, block, memory] = place;
  for (int d = 0; d < 3; ++d)
    if (shape[d] < 1 || block.count[d] < 0 || memory.count[d] < 0)
      throw InputError(fmt::format("{}: no array has the shape {} (x, y, z)", name, describe(shape)));
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

} // namespace tailrace::io
