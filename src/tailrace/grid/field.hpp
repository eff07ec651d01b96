#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/grid/buffer.hpp>
#include <tailrace/support/error.hpp>

#include <span>

namespace tailrace::grid {

/// One array on one box. Memory is x fastest. A new field holds zeros.
template <class T> class Field {
public:
  Field() = default;
  explicit Field(const Box &box) : Field(box, Buffer<T>(box.size())) {}
  /// Uses memory that was allocated elsewhere. Throws InputError if its size is not that of the box.
  Field(const Box &box, Buffer<T> values) : box_(box), values_(std::move(values)) {
    if (values_.size() != box.size())
      throw InputError("a field was given memory of another size than its box");
    std::fill_n(values_.data(), values_.size(), T{});
  }

  const Box &box() const { return box_; }
  T *data() { return values_.data(); }
  const T *data() const { return values_.data(); }
  std::int64_t size() const { return values_.size(); }
  std::span<T> values() { return {values_.data(), static_cast<std::size_t>(values_.size())}; }
  std::span<const T> values() const { return {values_.data(), static_cast<std::size_t>(values_.size())}; }

  /// The value at local indices, 0 .. count - 1 per direction.
  T &operator()(std::int64_t i, std::int64_t j, std::int64_t k) { return values_[offset(i, j, k)]; }
  const T &operator()(std::int64_t i, std::int64_t j, std::int64_t k) const { return values_[offset(i, j, k)]; }

private:
  std::int64_t offset(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return i + box_.count[0] * (j + box_.count[1] * k);
  }
  Box box_;
  Buffer<T> values_;
};

} // namespace tailrace::grid
