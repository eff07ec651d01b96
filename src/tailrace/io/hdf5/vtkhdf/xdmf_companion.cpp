#include <tailrace/io/hdf5/vtkhdf/xdmf_companion.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <optional>

namespace tailrace::io {

std::string Hdf5Drawing::path_for(const std::string &path) { return path + ending; }

bool Hdf5Drawing::is_at(const std::string &path) {
  const std::string drawing = path_for(path);
  return (is_regular(drawing) || is_link(drawing)) && is_xdmf_series(start_of(drawing, first_bytes_of_xdmf_series));
}

Hdf5Drawing::Hdf5Drawing(const std::string &path)
    : series_(path_for(path)), file_(std::filesystem::path(path).filename().string()) {
  const std::string start = start_of(series_.path(), first_bytes_of_xdmf_series); // empty where there is none
  if (!start.empty() && !is_xdmf_series(start))
    throw IoError(
        fmt::format("cannot write {}: {}, in which other programs would find its grid and steps, is there already and "
                    "is not of Tailrace. To fix this, write elsewhere, or move it away",
                    path, series_.path()));
}

void Hdf5Drawing::take_up(const vtkhdf::Contents &contents,
                          const std::function<vtkhdf::Step(std::size_t number)> &read) {
  const std::size_t count = contents.steps.size();
  if (count == 0 || !contents.grid)
    return;
  const XdmfStep first = drawn(contents, read(0), 0);
  if (first.attributes.empty()) // nothing there says which HDF5 file it is of: that may have been renamed
    return;
  std::optional<XdmfStep> last;
  if (count > 1)
    last = drawn(contents, read(count - 1), count - 1);
  if (series_.take_up(*contents.grid, first, last ? &*last : nullptr))
    steps_ = count;
}

void Hdf5Drawing::clear() {
  series_.clear();
  steps_ = 0;
}

void Hdf5Drawing::cut(std::size_t steps) noexcept {
  if (steps < steps_)
    steps_ = series_.take_back() ? steps : 0;
}

XdmfStep Hdf5Drawing::drawn(const vtkhdf::Contents &contents, const vtkhdf::Step &step, std::size_t number) const {
  XdmfStep result{std::to_string(step.info.index), step.info.time, {}};
  const Index3 &n = contents.grid->points;
  for (const auto &variable : step.variables) {
    const bool cells = variable.shape == Index3{n[0] - 1, n[1] - 1, n[2] - 1};
    if (!variable.list && has_xdmf(variable.type) && (cells || variable.shape == n))
      result.attributes.push_back({variable.name, variable.type, file_, contents.variables.at(variable.name).path,
                                   static_cast<std::int64_t>(number), cells});
  }
  return result;
}

void Hdf5Drawing::add(const vtkhdf::Contents &contents, const vtkhdf::Step &step) {
  series_.add(*contents.grid, drawn(contents, step, steps_));
  ++steps_;
}

} // namespace tailrace::io
