#pragma once

#include <tailrace/io/data/checksum.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// What ADIOS2 hands over to be written at the end of one file, from an object of this class on: its checksum. What is
/// in the file must have the same. Only our ADIOS2 tells it (tools/patch_adios2.py). Local.
class BpWritten {
public:
  /// `sum` is that of the first `bytes` of the file, which are there. `path`: as ADIOS2 names it.
  BpWritten(std::string path, const RunningChecksum &sum, std::int64_t bytes);
  ~BpWritten();
  BpWritten(const BpWritten &) = delete;
  BpWritten &operator=(const BpWritten &) = delete;

  struct Told {
    std::string sum;
    std::int64_t bytes = 0; ///< size of the file
  };
  /// Empty: nothing was told, or not all of it is at the end of the file.
  std::optional<Told> told() const;

private:
  static void on_write(const char *name, const void *data, std::size_t size, std::size_t start);
  void add(const char *data, std::int64_t size, std::int64_t start);

  std::string path_;
  RunningChecksum sum_;
  std::int64_t bytes_;
  bool any_ = false, in_order_ = true;
};

} // namespace tailrace::io
