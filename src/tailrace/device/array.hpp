#pragma once

#include <tailrace/device/stream.hpp>

#include <cstdint>
#include <vector>

namespace tailrace::device {

/// Values in the memory of a device.
template <class T> class Array {
public:
  Array() = default;
  /// All zero.
  Array(const Stream &stream, std::int64_t size) : size_(size), memory_(allocate(bytes())) {
    clear(stream, memory_.get(), bytes());
  }
  Array(const Stream &stream, const std::vector<T> &values) : Array(stream, static_cast<std::int64_t>(values.size())) {
    put(stream, values.data());
  }

  T *data() const { return static_cast<T *>(memory_.get()); }
  std::int64_t size() const { return size_; }
  /// All values, from the host and to it; see `upload` and `download`.
  void put(const Stream &stream, const T *values) { upload(stream, data(), values, bytes()); }
  void get(const Stream &stream, T *values) const { download(stream, values, data(), bytes()); }

private:
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  std::int64_t size_ = 0;
  std::shared_ptr<void> memory_;
};

} // namespace tailrace::device
