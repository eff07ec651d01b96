#pragma once

#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>
#include <tailrace/io/storage/xdmf.hpp>

#include <cstddef>
#include <functional>
#include <string>

namespace tailrace::io {

/// The XDMF file beside an HDF5 file. It holds the coordinates of a stretched grid, which VTKHDF cannot, and is what
/// programs open that do not know VTKHDF, or not its steps (ParaView before 5.12; VTK where there is one step alone).
/// Everything here is local.
class Hdf5Drawing {
public:
  /// `path`: of the HDF5 file. Throws IoError if there is another program's file beside it.
  explicit Hdf5Drawing(const std::string &path);

  /// What its name has behind that of the HDF5 file: ParaView opens .xdmf by its reader for XDMF 3, which cannot take
  /// one step of a dataset.
  static constexpr const char *ending = ".xdmf2";
  /// The path of the XDMF file beside an HDF5 file.
  static std::string path_for(const std::string &path);
  /// Whether there is one.
  static bool is_at(const std::string &path);
  std::size_t steps() const { return steps_; }
  /// Goes on with the file that is there, if it shows these steps and no more: else `add` begins it again. `read`
  /// returns a step. Only the first and the last one are looked at, because a series may have 100,000. Throws IoError.
  void take_up(const vtkhdf::Contents &contents, const std::function<vtkhdf::Step(std::size_t number)> &read);
  /// Removes the file.
  void clear();
  /// Takes the last step back if the file has one more than `steps`.
  void cut(std::size_t steps) noexcept;
  /// Adds the next step, with those of its variables that can be drawn, on points or cells. Throws IoError.
  void add(const vtkhdf::Contents &contents, const vtkhdf::Step &step);

private:
  XdmfStep drawn(const vtkhdf::Contents &contents, const vtkhdf::Step &step, std::size_t number) const;

  XdmfSeries series_;
  std::string file_; ///< name of the HDF5 file in it
  std::size_t steps_ = 0;
};

} // namespace tailrace::io
