#pragma once

#include <tailrace/io/storage/xdmf.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// The files by which ParaView and VisIt open a directory of headerless binary files: snapshot-N.xdmf for every step,
/// and series.xdmf for all of them, which costs the same for each step however many there are. Everything is local.
class XdmfFiles {
public:
  explicit XdmfFiles(std::string directory) : directory_(std::move(directory)) {}

  /// Name of the file of a step, which is gone when the step goes.
  static std::string snapshot(std::int64_t number);
  /// Adds a step as the sidecar describes it: number, time, and variables with name, type, shape and file. Those that
  /// are on the points of the grid are shown; nobody told the grid, then on those of the first variable.
  void add(const std::optional<GridDescription> &grid, const nlohmann::json &step);
  /// Begins series.xdmf anew, with no steps; `add_to_series` puts back those that there are.
  void clear();
  /// Without a file of its own, for a step that has one.
  void add_to_series(const std::optional<GridDescription> &grid, const nlohmann::json &step);

private:
  std::string file(const std::string &name) const { return directory_ + "/" + name; }
  std::optional<XdmfStep> describe(const std::optional<GridDescription> &grid, const nlohmann::json &step);
  void extend(const XdmfStep &step);

  std::string directory_;
  GridDescription drawn_; ///< no points: not known yet
  FileDescriptor series_;
  std::int64_t end_ = 0; ///< of the steps in series.xdmf; 0: there is none
};

} // namespace tailrace::io
