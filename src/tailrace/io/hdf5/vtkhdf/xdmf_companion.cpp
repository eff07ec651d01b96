#include <tailrace/io/hdf5/vtkhdf/xdmf_companion.hpp>

#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace {

/// Whether a text draws the HDF5 file at `path`, or one that is no longer beside it, because it was renamed.
bool draws(const std::string &text, const std::filesystem::path &path) {
  if (!is_xdmf_series(text))
    return false;
  const auto end = text.find(":/VTKHDF/"); // behind the name of the file, which stands alone in its line
  if (end == std::string::npos)
    return text.find("Format=\"Binary\"") == std::string::npos;
  const auto begin = text.find_first_not_of(' ', text.rfind('\n', end) + 1);
  const std::string name = text.substr(begin, end - begin);
  return name == path.filename() || !std::filesystem::exists(path.parent_path() / name);
}

} // namespace

std::string Hdf5Drawing::path_for(const std::string &path) {
  return std::filesystem::path(path).replace_extension(".xdmf").string();
}

bool Hdf5Drawing::is_at(const std::string &path) {
  const std::string drawing = path_for(path);
  return std::filesystem::is_regular_file(drawing) && draws(read_file(drawing), path);
}

Hdf5Drawing::Hdf5Drawing(const std::string &path)
    : path_(path_for(path)), file_(std::filesystem::path(path).filename().string()) {
  if (!std::filesystem::exists(path_))
    return;
  if (const std::string text = read_file(path_); !text.empty() && !draws(text, path))
    throw IoError(
        fmt::format("cannot write {}: {}, which would hold its stretched grid, is there already and is {}. To "
                    "fix this, write elsewhere, or move it away",
                    path, path_, is_xdmf_series(text) ? "that of another series" : "not of Tailrace"));
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
