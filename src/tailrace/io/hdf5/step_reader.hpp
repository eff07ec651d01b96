#pragma once

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/hdf5/journal/stable_view.hpp>
#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// Reads a VTKHDF file, whether or not a writer is adding steps to it. When a writer drops steps, or writes the file
/// again, steps that were read before and differ now are an error. Serial: every rank reads on its own. Local.
class StepReader {
public:
  explicit StepReader(std::string path) : path_(std::move(path)) {}

  vtkhdf::Contents contents() const;
  std::vector<std::string> damage(const vtkhdf::Contents &contents) const;
  /// Step `number` of the contents. The reference is valid until the next call.
  const vtkhdf::Step &step(const vtkhdf::Contents &contents, std::size_t number) const;
  std::string checksums(const vtkhdf::Contents &contents, std::size_t number) const;
  void read(const vtkhdf::Contents &contents, std::size_t number, const VariableInfo &variable, const Box &box,
            void *data) const;

private:
  template <class Work> auto look(Work work) const;
  template <class Work> auto look_at(const vtkhdf::Contents &contents, std::size_t number, Work work) const;

  bool settled(const StableView &view) const;
  hid_t opened(const StableView &view) const;

  std::string path_;
  mutable h5::Handle file_;                          ///< kept as long as nothing can have changed
  mutable std::optional<StableView::Stamp> opened_;  ///< what the file was then
  mutable std::optional<StableView::Stamp> watched_; ///< what it was at the last look
  mutable std::chrono::steady_clock::time_point watched_since_;
  mutable std::size_t cached_ = static_cast<std::size_t>(-1); ///< the step of cached_step_
  mutable vtkhdf::Step cached_step_;
  mutable std::map<std::size_t, std::string> seen_; ///< checksums of the records of steps that were read
};

} // namespace tailrace::io
