#include <tailrace/io/sidecar/xdmf_files.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

namespace tailrace::io {

using nlohmann::json;

std::string XdmfFiles::snapshot(std::int64_t number) { return fmt::format("snapshot-{}.xdmf", number); }

std::optional<XdmfStep> XdmfFiles::describe(const std::optional<GridDescription> &grid, const json &step) {
  const auto &variables = step.at("variables");
  for (const auto &variable : variables)
    if (!variable.contains("file")) // XDMF cannot describe a variable in several files
      return std::nullopt;
  if (grid)
    drawn_ = *grid;
  for (const auto &variable : variables)
    if (drawn_.points == Index3{0, 0, 0} && !variable.contains("list"))
      drawn_.points = index3_from_json(variable.at("shape"));
  if (drawn_.points == Index3{0, 0, 0})
    return std::nullopt;
  const json points{drawn_.points[2], drawn_.points[1], drawn_.points[0]};
  XdmfStep result{std::to_string(whole_number(step.at("number"))), step.at("time"), {}};
  for (const auto &variable : variables) {
    const Type type = type_named(variable.at("type"));
    if (variable.at("shape") == points && !variable.contains("list") && has_xdmf(type)) // those of cells lie elsewhere
      result.attributes.push_back({variable.at("name"), type, variable.at("file")});
  }
  return result;
}

void XdmfFiles::add(const std::optional<GridDescription> &grid, const json &step,
                    const std::function<FileDescriptor(const std::string &path)> &create) {
  const auto described = describe(grid, step);
  if (!described)
    return;
  const std::string path = file(snapshot(whole_number(step.at("number"))));
  const std::string text = xdmf_snapshot(drawn_, *described);
  const FileDescriptor target = create(path); // an incomplete file is harmless: step not listed yet
  write_all(target.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, path);
  try {
    series_.add(drawn_, *described);
  } catch (...) {
    is_whole_ = series_.is_begun();
    throw;
  }
  added_ = true;
}

void XdmfFiles::take_back() noexcept {
  if (added_)
    is_whole_ = series_.take_back();
  added_ = false;
}

bool XdmfFiles::take_up(const std::optional<GridDescription> &grid, const json &first, const json *last) {
  const auto begin = describe(grid, first);
  const auto end = last ? describe(grid, *last) : std::nullopt;
  return is_whole_ && begin && (end || !last) && series_.take_up(drawn_, *begin, end ? &*end : nullptr);
}

void XdmfFiles::add_to_series(const std::optional<GridDescription> &grid, const json &step) {
  if (const auto described = describe(grid, step))
    series_.add(drawn_, *described);
}

void XdmfFiles::clear() {
  series_.clear();
  drawn_ = {};
  added_ = false;
  is_whole_ = true;
}

void XdmfFiles::drop() {
  clear();
  is_whole_ = false;
}

void XdmfFiles::sync() noexcept {
  if (!series_.sync())
    drop();
}

} // namespace tailrace::io
