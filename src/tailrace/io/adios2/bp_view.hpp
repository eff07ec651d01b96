#pragma once

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tailrace::io {

/// The metadata of a BP series at the time when a reader opens it, to notice that another program has since dropped
/// steps, or written the series again. ADIOS2 reads the metadata only at the beginning: later it would return other
/// values from the same place, or wait for bytes that do not exist any more. New steps are no change. A program that
/// drops steps first replaces md.idx.
///
/// Where md.idx does not tell that nothing was written since, as beside a writer, a look at a step compares the
/// metadata of this step and of the first one, which has the attributes: a step with the same index, time and checksums
/// has the same values. All of them are compared again after as many looks as there are steps, so that no look costs
/// more in a longer series.
class BpView {
public:
  /// An empty view.
  BpView() = default;
  /// Reads the metadata of the series in a directory. Local. Throws IoError.
  explicit BpView(const std::string &directory);
  /// The view of rank 0, on all ranks. Collective.
  BpView from_root(const Communicator &comm) const;

  /// Whether the metadata are still there. Local; looks at one file, and reads the metadata only when it has changed.
  bool changed() const { return changed(everything); }
  /// Whether those are that ADIOS2 needs for the step of this number.
  bool changed(std::size_t number) const;

private:
  static constexpr std::size_t everything = std::numeric_limits<std::size_t>::max();
  void pin();
  void find_steps();
  bool compare(std::size_t number) const;
  std::vector<std::uint64_t> sums(std::span<const bp::StepPlace> places) const;

  std::string directory_;
  std::uint64_t inode_ = 0;                     ///< of md.idx; 0: there is none
  std::shared_ptr<const FileDescriptor> index_; ///< it is open, so that no later file gets its inode
  std::vector<std::int64_t> bytes_;             ///< of md.idx and md.0
  std::vector<bp::StepPlace> places_;           ///< of the steps; of a damaged index: all bytes as one step
  std::vector<std::uint64_t> sums_;             ///< of the metadata there
  mutable std::size_t looks_left_ = 0;          ///< before all metadata are compared again
  mutable struct stat seen_ = {};               ///< md.idx, when all metadata were compared last
};

} // namespace tailrace::io
