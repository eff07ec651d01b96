#include <tailrace/io/hdf5/xdmf_companion.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

std::string Hdf5Drawing::path_for(const std::string &path) {
  return std::filesystem::path(path).replace_extension(".xdmf").string();
}

bool Hdf5Drawing::is_at(const std::string &path) {
  const std::string drawing = path_for(path);
  return std::filesystem::is_regular_file(drawing) && is_xdmf_series(read_file(drawing));
}

Hdf5Drawing::Hdf5Drawing(const std::string &path)
    : path_(path_for(path)), file_(std::filesystem::path(path).filename().string()) {
  if (!std::filesystem::exists(path_))
    return;
  if (const std::string text = read_file(path_); !text.empty() && !is_xdmf_series(text))
    throw IoError(
        fmt::format("cannot write {}: {}, which would hold its stretched grid, is there already and is not of "
                    "Tailrace. To fix this, write elsewhere, or move it away",
                    path, path_));
}

void Hdf5Drawing::cut(std::size_t steps) { steps_.resize(std::min(steps, steps_.size())); }

void Hdf5Drawing::add(const vtkhdf::Contents &contents, const vtkhdf::Step &step) {
  const auto number = static_cast<std::int64_t>(steps_.size());
  steps_.push_back({std::to_string(step.info.index), step.info.time, {}});
  const Index3 &n = contents.grid->points;
  for (const auto &variable : step.variables) {
    const bool cells = variable.shape == Index3{n[0] - 1, n[1] - 1, n[2] - 1};
    if (!variable.list && (cells || variable.shape == n))
      steps_.back().attributes.push_back(
          {variable.name, variable.type, file_, contents.variables.at(variable.name).path, number, cells});
  }
}

void Hdf5Drawing::publish(const GridDescription &grid, bool sync) const {
  replace_file(path_, xdmf_series(grid, steps_), sync);
}

} // namespace tailrace::io
