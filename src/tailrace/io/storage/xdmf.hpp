#pragma once

#include <tailrace/io/types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tailrace::io {

/// A variable of a snapshot in a headerless binary file beside the XDMF file, or in step number `row` of a dataset
/// [step, z, y, x] of an HDF5 file beside it.
struct XdmfAttribute {
  std::string name;
  Type type;
  std::string file;
  std::string dataset{}; ///< path in the HDF5 file; empty: the file is headerless
  std::int64_t row = 0;
  bool cells = false; ///< values of cells: one less than points in each direction
};

struct XdmfStep {
  std::string name;
  double time = 0;
  std::vector<XdmfAttribute> attributes;
};

/// XDMF text for one snapshot, in the form that Xcompact3D writes.
std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step);
/// XDMF text for all snapshots as one series in time: its beginning, the text of each step, and its end.
std::string xdmf_series_begin(const GridDescription &grid);
std::string xdmf_series_step(const GridDescription &grid, const XdmfStep &step);
std::string xdmf_series_end();
/// The whole text.
std::string xdmf_series(const GridDescription &grid, const std::vector<XdmfStep> &steps);
/// Whether a text is one of these. Local.
bool is_xdmf_series(std::string_view text);

/// The text of the attribute `vtk.xml` by which the ADIOS2 readers of ParaView and VTK see ImageData with these point
/// variables. They take the time from a variable `time`.
std::string vtk_image_xml(const GridDescription &grid, const std::vector<std::string> &names);

} // namespace tailrace::io
