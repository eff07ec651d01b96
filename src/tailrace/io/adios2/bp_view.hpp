#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::io {

/// The metadata of a BP series at the time when a reader opens it, to notice that another program has since dropped
/// steps, or written the series again. ADIOS2 reads the metadata only at the beginning: later it would return other
/// values from the same place, or wait for bytes that do not exist any more. New steps are no change. A program that
/// drops steps first replaces md.idx.
class BpView {
public:
  /// An empty view.
  BpView() = default;
  /// Reads the metadata of the series in a directory. Local. Throws IoError.
  explicit BpView(const std::string &directory);
  /// The view of rank 0, on all ranks. Collective.
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
