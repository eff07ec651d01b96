#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tailrace::grid {

/// Memory for `size` values, not initialised, aligned for vectors. It is on large pages where the system has them,
/// because sweeps along z touch one small page per point.
template <class T> class Buffer {
public:
  Buffer() = default;
  explicit Buffer(std::int64_t size) : size_(size) {
    constexpr std::size_t huge = std::size_t{1} << 21;
    std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T) + 64;
    const std::size_t alignment = bytes >= huge ? huge : 64;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T *>(std::aligned_alloc(alignment, bytes)), [](T *p) { std::free(p); });
    if (!data_)
      throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (alignment == huge)
      madvise(data_.get(), bytes, MADV_HUGEPAGE); // only advice: without large pages the program is slower
#endif
  }
  /// Uses memory that was allocated elsewhere, for example memory shared between ranks.
  Buffer(std::shared_ptr<T> data, std::int64_t size) : data_(std::move(data)), size_(size) {}
  Buffer(Buffer &&) noexcept = default;
  Buffer &operator=(Buffer &&) noexcept = default;

  T *data() { return data_.get(); }
  const T *data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T &operator[](std::int64_t i) { return data_.get()[i]; }
  const T &operator[](std::int64_t i) const { return data_.get()[i]; }

private:
  std::shared_ptr<T> data_;
  std::int64_t size_ = 0;
};

} // namespace tailrace::grid
