#pragma once

#include <tailrace/grid/box.hpp>
#include <tailrace/grid/buffer.hpp>
#include <tailrace/support/error.hpp>

#include <span>

namespace tailrace::grid {

/// One array on one box, surrounded by `halo` points on every side. Memory is x fastest.
template <class T> class Field {
public:
  Field() = default;
  explicit Field(const Box &box, int halo = 0) : box_(box), halo_(halo), values_(product(memory_count())) { clear(); }
  /// In memory made elsewhere. InputError where that has not the size of the box.
  Field(const Box &box, Buffer<T> values) : box_(box), values_(std::move(values)) {
    if (values_.size() != box.size())
      throw InputError("a field was given memory of another size than its box");
    clear();
  }

  const Box &box() const { return box_; }
  int halo() const { return halo_; }
  /// Points per direction in memory, halo included.
  Index3 memory_count() const {
    return {box_.count[0] + 2 * halo_, box_.count[1] + 2 * halo_, box_.count[2] + 2 * halo_};
  }
  T *data() { return values_.data(); }
  const T *data() const { return values_.data(); }
  std::int64_t size() const { return values_.size(); }
  std::span<T> values() { return {values_.data(), static_cast<std::size_t>(values_.size())}; }
  std::span<const T> values() const { return {values_.data(), static_cast<std::size_t>(values_.size())}; }

  /// The value at local indices; -halo .. count + halo - 1 per direction.
  T &operator()(std::int64_t i, std::int64_t j, std::int64_t k) { return values_[offset(i, j, k)]; }
  const T &operator()(std::int64_t i, std::int64_t j, std::int64_t k) const { return values_[offset(i, j, k)]; }

private:
  void clear() { std::fill_n(values_.data(), values_.size(), T{}); }
  std::int64_t offset(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const Index3 n = memory_count();
    return i + halo_ + n[0] * (j + halo_ + n[1] * (k + halo_));
  }
  Box box_;
  int halo_ = 0;
  Buffer<T> values_;
};

} // namespace tailrace::grid
