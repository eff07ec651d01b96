#include <tailrace/io/sidecar_engine.hpp>

#include <tailrace/io/attributes_json.hpp>
#include <tailrace/io/files.hpp>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <limits>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr int sidecar_version = 1;
constexpr const char *native_order = std::endian::native == std::endian::little ? "little" : "big";

json reversed(const Index3 &n) { return {n[2], n[1], n[0]}; }

} // namespace

SidecarEngine::SidecarEngine(const Target &target, std::string name, std::string layout)
    : target_(target), name_(std::move(name)), layout_(std::move(layout)) {}

std::string SidecarEngine::file(const std::string &name) const {
  return (std::filesystem::path(target_.path) / name).string();
}

void SidecarEngine::open() {
  target_.comm.agree([&] {
    if (target_.comm.rank() != 0)
      return;
    check_target(target_.path, target_.mode, Kind::directory);
    const bool there = std::filesystem::exists(file("series.json"));
    if (target_.mode == Mode::read || (target_.mode == Mode::append && there))
      load();
    else
      create();
    if (target_.rewind_to)
      rewind(*target_.rewind_to);
  });
  sidecar_ = json::parse(target_.comm.broadcast(sidecar_.dump(), 0));
}

void SidecarEngine::load() {
  const std::string path = file("series.json");
  if (!std::filesystem::exists(path))
    throw IoError(
        fmt::format("cannot read {}: it holds no series.json, so it is not a {} series", target_.path, name_));
  try {
    sidecar_ = json::parse(read_file(path));
    if (const std::string found = sidecar_.at("format"), ours = fmt::format("tailrace {} series", name_); found != ours)
      throw IoError(fmt::format("cannot open {}: it is a '{}'; expected a '{}'. To fix this, name the other engine",
                                target_.path, found, ours));
    if (sidecar_.at("version").get<int>() > sidecar_version)
      throw IoError(fmt::format("cannot read {}: its version {} is newer than this program's {}", path,
                                sidecar_.at("version").get<int>(), sidecar_version));
    if (sidecar_.at("byte_order") != native_order)
      throw IoError(fmt::format("cannot read {}: its files have the byte order of another machine", path));
    attributes(), grid();
    for (std::size_t step = 0; step < steps().size(); ++step)
      variables(step), scalars(step), check(sidecar_["steps"][step]);
  } catch (const json::exception &error) {
    throw IoError(
        fmt::format("cannot read {}: it is damaged or no description of a {} series ({})", path, name_, error.what()));
  }
}

void SidecarEngine::create() {
  if (std::filesystem::exists(file("series.json"))) {
    load(); // an earlier series goes; other people's files in the directory stay
    for (const auto &step : sidecar_.at("steps"))
      remove_files(step);
  } else if (::mkdir(target_.path.c_str(), 0777) != 0 && errno != EEXIST) {
    throw file_error("create", target_.path, errno);
  }
  sidecar_ = {{"format", fmt::format("tailrace {} series", name_)},
              {"version", sidecar_version},
              {"byte_order", native_order},
              {"axes", {"z", "y", "x"}},
              {"layout", layout_},
              {"attributes", json::object()},
              {"steps", json::array()}};
  if (target_.grid)
    sidecar_["grid"] = {{"points", reversed(target_.grid->points)},
                        {"origin", {target_.grid->origin[2], target_.grid->origin[1], target_.grid->origin[0]}},
                        {"spacing", {target_.grid->spacing[2], target_.grid->spacing[1], target_.grid->spacing[0]}}};
  save(sidecar_);
}

void SidecarEngine::rewind(std::int64_t last_index) {
  json kept = json::array(), dropped = json::array();
  for (const auto &step : sidecar_.at("steps"))
    (step.at("index").get<std::int64_t>() <= last_index ? kept : dropped).push_back(step);
  if (dropped.empty())
    return;
  sidecar_["steps"] = kept;
  save(sidecar_); // first the list, then the files: never a listed file that is gone
  for (const auto &step : dropped)
    remove_files(step);
  publish(kept);
}

void SidecarEngine::remove_files(const json &step) const {
  for (const auto &name : files(step))
    if (name.find('/') == std::string::npos) // a sidecar must not make us delete elsewhere
      ::unlink(file(name).c_str());
}

void SidecarEngine::save(const json &sidecar) const {
  replace_file(file("series.json"), sidecar.dump(1), target_.sync);
}

std::vector<StepInfo> SidecarEngine::steps() const {
  std::vector<StepInfo> result;
  for (const auto &step : sidecar_.at("steps"))
    result.push_back({step.at("index").get<std::int64_t>(), step.at("time").get<double>()});
  return result;
}

void SidecarEngine::begin_step(const StepInfo &step) {
  step_ = {{"index", step.index}, {"time", step.time}, {"variables", json::array()}};
}

json &SidecarEngine::add_variable(const Block &block) {
  step_["variables"].push_back(
      {{"name", block.name}, {"type", name_of(block.type)}, {"shape", reversed(block.place.shape)}});
  return step_["variables"].back();
}

void SidecarEngine::end_step(const StepTail &tail) {
  step_["scalars"] = tail.scalars;
  const json sums = tail.checksums.empty() ? json::object() : json::parse(target_.comm.broadcast(tail.checksums, 0));
  for (auto &variable : step_["variables"])
    if (const auto found = sums.find(variable.at("name").get<std::string>()); found != sums.end())
      variable["checksums"] = *found;
  json next = sidecar_;
  next["steps"].push_back(step_);
  target_.comm.agree([&] {
    if (target_.comm.rank() != 0)
      return;
    publish(next.at("steps"));
    if (target_.sync)
      sync_path(target_.path);
    save(next); // last: this is what makes it a step
  });
  sidecar_ = std::move(next);
  step_ = json(); // no longer open: there is nothing to abandon
  unsaved_ = false;
}

void SidecarEngine::abandon_step() noexcept {
  if (target_.comm.rank() == 0 && step_.contains("variables")) {
    remove_files(step_);
    try {
      publish(sidecar_.at("steps"));
    } catch (const IoError &) { // on a full disk, say: the sidecar counts, and the rest is made anew with the next step
    }
  }
  step_ = json();
}

void SidecarEngine::set_attributes(const Attributes &attributes) {
  sidecar_["attributes"] = attributes_to_json(attributes);
  unsaved_ = true;
}

Attributes SidecarEngine::attributes() const { return attributes_from_json(sidecar_.at("attributes")); }

void SidecarEngine::close() {
  target_.comm.agree([&] {
    if (target_.comm.rank() == 0 && unsaved_)
      save(sidecar_);
  });
  unsaved_ = false;
}

std::optional<GridDescription> SidecarEngine::grid() const {
  if (!sidecar_.contains("grid"))
    return std::nullopt;
  GridDescription grid;
  const auto &found = sidecar_.at("grid");
  for (std::size_t d = 0; d < 3; ++d) {
    grid.points[d] = found.at("points").at(2 - d);
    grid.origin[d] = found.at("origin").at(2 - d);
    grid.spacing[d] = found.at("spacing").at(2 - d);
  }
  return grid;
}

Scalars SidecarEngine::scalars(std::size_t step) const {
  Scalars result;
  for (const auto &[name, value] : sidecar_.at("steps").at(step).at("scalars").items())
    result[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>(); // JSON has no NaN
  return result;
}

std::vector<VariableInfo> SidecarEngine::variables(std::size_t step) const {
  std::vector<VariableInfo> result;
  for (const auto &variable : sidecar_.at("steps").at(step).at("variables")) {
    const auto &shape = variable.at("shape");
    result.push_back({variable.at("name"), type_named(variable.at("type")), {shape.at(2), shape.at(1), shape.at(0)}});
  }
  return result;
}

std::string SidecarEngine::checksums(std::size_t step) const {
  json sums = json::object();
  for (const auto &variable : sidecar_.at("steps").at(step).at("variables"))
    if (variable.contains("checksums"))
      sums[variable.at("name").get<std::string>()] = variable.at("checksums");
  return sums.dump();
}

const json &SidecarEngine::stored(std::size_t step, const std::string &variable) const {
  for (const auto &found : sidecar_.at("steps").at(step).at("variables"))
    if (found.at("name") == variable)
      return found;
  throw InputError(fmt::format("{} has no variable '{}'", target_.path, variable)); // Series has looked before
}

} // namespace tailrace::io
