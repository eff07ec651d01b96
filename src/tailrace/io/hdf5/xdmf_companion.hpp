#pragma once

#include <tailrace/io/hdf5/vtkhdf.hpp>
#include <tailrace/io/storage/xdmf.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tailrace::io {

/// The XDMF file beside an HDF5 file on a stretched grid, which says where the points are: VTKHDF cannot. Everything
/// here is local.
class Hdf5Drawing {
public:
  /// `path` is the HDF5 file's.
  explicit Hdf5Drawing(const std::string &path);

  std::size_t steps() const { return steps_.size(); }
  /// Forgets steps from number `steps` on.
  void cut(std::size_t steps);
  /// Adds what can be drawn of a step: points and cells.
  void add(const vtkhdf::Contents &contents, const vtkhdf::Step &step);
  /// Replaces the XDMF file. Throws IoError.
  void publish(const GridDescription &grid, bool sync) const;

private:
  std::string path_, file_; ///< of the XDMF file; the HDF5 file, as it names it
  std::vector<XdmfStep> steps_;
};

} // namespace tailrace::io
