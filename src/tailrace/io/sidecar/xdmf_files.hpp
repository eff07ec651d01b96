#pragma once

#include <tailrace/io/storage/xdmf.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tailrace::io {

/// Files with which ParaView and VisIt open a directory of headerless binary files: snapshot-N.xdmf for every step, and
/// series.xdmf for all steps. All local.
class XdmfFiles {
public:
  explicit XdmfFiles(const std::string &directory) : directory_(directory), series_(file("series.xdmf")) {}

  /// Path of series.xdmf.
  const std::string &all_steps() const { return series_.path(); }
  /// Name of the file of a step; the file is removed with the step.
  static std::string snapshot(std::int64_t number);
  /// Adds a step as the sidecar describes it: number, time, and variables with name, type, shape and file. Shows the
  /// variables on the points of the grid or, without a grid, on the points of the first variable. `create` creates
  /// snapshot-N.xdmf.
  void add(const std::optional<GridDescription> &grid, const nlohmann::json &step,
           const std::function<FileDescriptor(const std::string &path)> &create);
  /// The step that was added last is complete: `take_back` leaves it.
  void keep() { added_ = false; }
  /// Takes the last step out of series.xdmf if `add` has put it there; its own file stays.
  void take_back() noexcept;
  /// Whether series.xdmf has all steps that were added; else the caller adds all again, after `clear`.
  bool is_whole() const { return is_whole_; }
  /// Goes on with the series.xdmf that is there, if it is whole and shows these steps first and last; `last` is null
  /// where there is one step. The steps between are not looked at. Throws IoError.
  bool take_up(const std::optional<GridDescription> &grid, const nlohmann::json &first, const nlohmann::json *last);
  /// Removes series.xdmf; the caller then adds all steps again with `add_to_series`.
  void clear();
  /// Removes series.xdmf, which has not got all steps.
  void drop();
  /// Has series.xdmf on the disk, or drops it.
  void sync() noexcept;
  /// Adds a step only to series.xdmf, because snapshot-N.xdmf exists already.
  void add_to_series(const std::optional<GridDescription> &grid, const nlohmann::json &step);

private:
  std::string file(const std::string &name) const { return directory_ + "/" + name; }
  std::optional<XdmfStep> describe(const std::optional<GridDescription> &grid, const nlohmann::json &step);

  std::string directory_;
  GridDescription drawn_; ///< no points: not yet known
  bool added_ = false, is_whole_ = true;
  XdmfSeries series_;
};

} // namespace tailrace::io
