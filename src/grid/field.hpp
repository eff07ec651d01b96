#pragma once

#include <tailrace/grid/box.hpp>

#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tailrace {

/// Memory for `size` values, aligned for vectors and on large pages where the system gives them: sweeps along z touch one
/// page per point otherwise. Not initialised.
template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(std::int64_t size) : size_(size) {
    constexpr std::size_t huge = std::size_t{1} << 21;
    std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T) + 64;
    const std::size_t alignment = bytes >= huge ? huge : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T *>(std::aligned_alloc(alignment, bytes)));
    if (!data_)
      throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (alignment == huge)
      madvise(data_.get(), bytes, MADV_HUGEPAGE); // advice only: refusal costs speed, nothing else
#endif
  }
  T *data() { return data_.get(); }
  const T *data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T &operator[](std::int64_t i) { return data_.get()[i]; }
  const T &operator[](std::int64_t i) const { return data_.get()[i]; }

private:
  struct Free {
    void operator()(T *p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  std::int64_t size_ = 0;
};

/// One array on one box, surrounded by `halo` points on every side. Memory is x fastest.
template <class T> class Field {
public:
  Field() = default;
  explicit Field(const Box &box, int halo = 0) : box_(box), halo_(halo), values_(product(memory_count())) {
    std::fill_n(values_.data(), values_.size(), T{});
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
  std::int64_t offset(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const Index3 n = memory_count();
    return i + halo_ + n[0] * (j + halo_ + n[1] * (k + halo_));
  }
  Box box_;
  int halo_ = 0;
  Buffer<T> values_;
};

} // namespace tailrace
