#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tailrace::io {

/// 64-bit XXH3 of bytes that are added piece by piece. Local.
class RunningChecksum {
public:
  RunningChecksum();
  RunningChecksum(const RunningChecksum &other);
  RunningChecksum &operator=(const RunningChecksum &other);
  void add(const void *data, std::size_t bytes);
  std::uint64_t number() const;
  std::string text() const; ///< as 16 hexadecimal digits

private:
  std::shared_ptr<void> state_; ///< keeps xxhash.h out of this header
};

} // namespace tailrace::io
