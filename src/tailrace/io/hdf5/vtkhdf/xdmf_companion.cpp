#include <tailrace/io/hdf5/vtkhdf/xdmf_companion.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

#include <filesystem>

namespace tailrace::io {

std::string Hdf5Drawing::path_for(const std::string &path) { return path + ending; }

bool Hdf5Drawing::is_at(const std::string &path) {
  const std::string drawing = path_for(path);
  return std::filesystem::is_regular_file(drawing) && is_xdmf_series(read_file(drawing));
}

Hdf5Drawing::Hdf5Drawing(const std::string &path)
    : series_(path_for(path)), file_(std::filesystem::path(path).filename().string()) {
  const std::string &drawing = series_.path();
  if (!std::filesystem::exists(drawing))
    return;
  if (const std::string text = read_file(drawing); !text.empty() && !is_xdmf_series(text))
    throw IoError(
        fmt::format("cannot write {}: {}, in which other programs would find its grid and steps, is there already and "
                    "is not of Tailrace. To fix this, write elsewhere, or move it away",
                    path, drawing));
}

void Hdf5Drawing::cut(std::size_t steps) {
  if (steps >= steps_)
    return;
  series_.restart();
  steps_ = 0;
}

void Hdf5Drawing::add(const vtkhdf::Contents &contents, const vtkhdf::Step &step) {
  XdmfStep drawn{std::to_string(step.info.index), step.info.time, {}};
  const Index3 &n = contents.grid->points;
  for (const auto &variable : step.variables) {
    const bool cells = variable.shape == Index3{n[0] - 1, n[1] - 1, n[2] - 1};
    if (!variable.list && (cells || variable.shape == n))
      drawn.attributes.push_back({variable.name, variable.type, file_, contents.variables.at(variable.name).path,
                                  static_cast<std::int64_t>(steps_), cells});
  }
  series_.add(*contents.grid, drawn);
  ++steps_;
}

} // namespace tailrace::io
