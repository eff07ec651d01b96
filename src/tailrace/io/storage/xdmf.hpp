#pragma once

#include <tailrace/io/types.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

/// Whether the readers of XDMF know such numbers.
bool has_xdmf(Type type);

struct XdmfStep {
  std::string name;
  double time = 0;
  std::vector<XdmfAttribute> attributes;
};

/// A text with the characters escaped that XML does not take in elements.
std::string xml_text(const std::string &text);

/// XDMF text for one snapshot. ParaView's readers for XDMF 2 and 3 both take it; vectors are for the first alone.
std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step);
/// How many bytes of a file `is_xdmf_series` needs.
constexpr std::size_t first_bytes_of_xdmf_series = 4096;
/// Whether a text that begins so is that of an XdmfSeries. Local.
bool is_xdmf_series(std::string_view text);

/// An XDMF file of all snapshots as one series in time. Adding a step takes the same time for any number of steps: it
/// overwrites the end of the document. A program that is killed at this moment may leave a document without its end,
/// which `take_up` refuses. Everything is local.
class XdmfSeries {
public:
  explicit XdmfSeries(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Whether the file has a step: else the next one begins it.
  bool is_begun() const { return end_ > 0; }
  /// Whether the file is there and whole, begins with the first and ends with the last of these steps: then the next
  /// step is added to it. `last` is null where there is one step. The steps between are not read. Throws IoError.
  bool take_up(const GridDescription &grid, const XdmfStep &first, const XdmfStep *last);
  /// Adds a step; the first one since the construction or `clear` begins the file again, unless it was taken up. Throws
  /// IoError, and then the file is as before, or is begun again by the next step.
  void add(const GridDescription &grid, const XdmfStep &step);
  /// Takes the step back that was added last. If that fails, false: the next step begins the file again.
  bool take_back() noexcept;
  void clear();               ///< removes the file
  bool sync() const noexcept; ///< whether what was added is on the disk

private:
  bool end_at(std::int64_t end) noexcept;

  std::string path_;
  FileDescriptor file_;
  std::int64_t end_ = 0;    ///< where the steps end; 0: the file is begun with the next one
  std::int64_t before_ = 0; ///< where they ended before the last one
};

/// The text of the attribute `vtk.xml` by which the ADIOS2 readers of ParaView and VTK see ImageData with these point
/// variables. They take the time from a variable `time`.
std::string vtk_image_xml(const GridDescription &grid, const std::vector<std::string> &names);

} // namespace tailrace::io
