#pragma once

#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>
#include <tailrace/io/storage/xdmf.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tailrace::io {

/// The XDMF file beside an HDF5 file on a stretched grid. It holds the coordinates, which VTKHDF cannot. Everything
/// here is local.
class Hdf5Drawing {
public:
  /// `path`: of the HDF5 file. Throws IoError if there is another program's file beside it.
  explicit Hdf5Drawing(const std::string &path);

  /// The path of the XDMF file beside an HDF5 file.
  static std::string path_for(const std::string &path);
  /// Whether there is one, and no other series draws in it.
  static bool is_at(const std::string &path);
  std::size_t steps() const { return steps_.size(); }
  /// Removes steps from number `steps` on.
  void cut(std::size_t steps);
  /// Adds the variables of a step that can be drawn, on points or cells.
  void add(const vtkhdf::Contents &contents, const vtkhdf::Step &step);
  /// Replaces the XDMF file. Throws IoError.
  void publish(const GridDescription &grid, bool sync) const;

private:
  std::string path_, file_; ///< of the XDMF file; name of the HDF5 file in it
  std::vector<XdmfStep> steps_;
};

} // namespace tailrace::io
