#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::io {

/// The metadata of a BP series as they are when a reader opens it, to notice that another program has dropped steps
/// since, or has written the series again. ADIOS2 knows the metadata of the beginning only: it would return what is now
/// in the place of a value, or wait for bytes that are no longer there. New steps are no change. Who drops steps puts
/// another md.idx in its place first.
class BpView {
public:
  /// Sees nothing.
  BpView() = default;
  /// Reads the metadata of the series in a directory. Local. Throws IoError.
  explicit BpView(const std::string &directory);
  /// What rank 0 sees. Collective.
  BpView from_root(const Communicator &comm) const;

  /// Whether the metadata are still there. Local; looks at one file, and reads the metadata only when it has changed.
  bool changed() const;

private:
  void pin();
  static std::string sums(const std::string &directory, const std::vector<std::int64_t> &bytes);

  std::string directory_, sums_;
  std::uint64_t inode_ = 0;                     ///< of md.idx; 0: there is none
  std::shared_ptr<const FileDescriptor> index_; ///< it is open, so that no later file gets its inode
  std::vector<std::int64_t> bytes_;             ///< of md.idx and md.0
  mutable struct stat seen_ = {};               ///< md.idx, when the metadata were compared last
};

} // namespace tailrace::io
