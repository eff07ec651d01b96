#pragma once

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/hdf5/journal/journal.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tailrace::io {

/// An HDF5 file that exists and is changed: each change is made as a whole, or not at all if the program dies. It is
/// open from the first change on. Everything here is local; for rank 0.
class JournaledFile {
public:
  /// `alignment`: see h5::access_list. `sync`: a change is on the disk when `commit` returns.
  JournaledFile(const std::string &path, std::int64_t alignment, bool sync);

  /// Begins a change. Throws IoError as `check_in_place` does.
  void begin();
  bool changing() const { return changing_; }
  /// To be changed by HDF5, between `begin` and `commit`.
  operator hid_t() const { return file_; }
  /// Makes the change. `marks`: see Journal::save.
  void commit(const std::map<std::int64_t, std::int64_t> &marks);
  /// Ends a change without making it.
  void discard() noexcept;

  /// Throws IoError if another file, or none, is where this one was when it was opened.
  void check_in_place() const;
  /// HDF5 forgets the space that it freed, so that later data get new space.
  void forget_free_space() { file_ = h5::Handle(); }

private:
  std::string path_;
  std::int64_t alignment_;
  bool sync_, changing_ = false;
  FileDescriptor opened_;
  std::optional<Journal> journal_;
  h5::Handle file_;
};

} // namespace tailrace::io
