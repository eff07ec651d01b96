// Headerless binary files under Xcompact3D's names, one per variable and snapshot, which any language reads in a line;
// a JSON sidecar, series.json, that says what they hold; and XDMF files that let ParaView and VisIt open them.
//
// The sidecar is the truth: it is replaced in one piece at the end of every step, after that step's files are complete.
// A run cut anywhere leaves at most files that the sidecar does not list.

#include <tailrace/io/attributes_json.hpp>
#include <tailrace/io/engine.hpp>
#include <tailrace/io/files.hpp>
#include <tailrace/io/shared_file.hpp>
#include <tailrace/io/xdmf.hpp>

#include <fcntl.h>
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

json reversed(const Index3 &n) { return {n[2], n[1], n[0]}; }

class RawEngine final : public Engine {
public:
  RawEngine(const Target &target, Parameters &parameters);

  std::vector<StepInfo> steps() const override;
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::optional<GridDescription> grid() const override;
  Attributes attributes() const override { return attributes_from_json(sidecar_.at("attributes")); }
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  std::string file(const std::string &name) const { return (std::filesystem::path(target_.path) / name).string(); }
  void load();
  void create();
  void rewind(std::int64_t last_index);
  void remove_files(const json &step) const;
  void save(const json &sidecar) const;
  void write_xdmf(const json &steps) const;

  Target target_;
  Transfer transfer_ = Transfer::independent;
  std::int64_t ioutput_ = 0; ///< 0: number the snapshots 1, 2, ...
  json sidecar_;             ///< the same on all ranks
  json step_;                ///< the open one
  bool unsaved_ = false;
};

RawEngine::RawEngine(const Target &target, Parameters &parameters) : target_(target) {
  target.comm.agree([&] {
    transfer_ = transfer_named(parameters.text("transfer", "independent", {"independent", "collective"}));
    ioutput_ = parameters.number("ioutput", 0, 0);
    parameters.finish("raw");
    if (target.comm.rank() != 0)
      return;
    check_target(target.path, target.mode, Kind::directory);
    const bool there = std::filesystem::exists(file("series.json"));
    if (target.mode == Mode::read || (target.mode == Mode::append && there))
      load();
    else
      create();
    if (target.rewind_to)
      rewind(*target.rewind_to);
  });
  sidecar_ = json::parse(target.comm.broadcast(sidecar_.dump(), 0));
}

void RawEngine::load() {
  const std::string path = file("series.json");
  if (!std::filesystem::exists(path))
    throw IoError(fmt::format("cannot read {}: it holds no series.json, so it is not a raw series", target_.path));
  try {
    sidecar_ = json::parse(read_file(path));
    if (sidecar_.at("version").get<int>() > sidecar_version)
      throw IoError(fmt::format("cannot read {}: its version {} is newer than this program's {}", path,
                                sidecar_.at("version").get<int>(), sidecar_version));
    if (sidecar_.at("byte_order") != (std::endian::native == std::endian::little ? "little" : "big"))
      throw IoError(fmt::format("cannot read {}: its files have the byte order of another machine", path));
    attributes(), grid();
    for (std::size_t step = 0; step < steps().size(); ++step)
      variables(step), scalars(step), sidecar_["steps"][step].at("number").get<std::int64_t>();
  } catch (const json::exception &error) {
    throw IoError(
        fmt::format("cannot read {}: it is damaged or no description of a raw series ({})", path, error.what()));
  }
}

void RawEngine::create() {
  if (std::filesystem::exists(file("series.json"))) {
    load(); // an earlier series goes; other people's files in the directory stay
    for (const auto &step : sidecar_.at("steps"))
      remove_files(step);
  } else if (::mkdir(target_.path.c_str(), 0777) != 0 && errno != EEXIST) {
    throw file_error("create", target_.path, errno);
  }
  sidecar_ = {
      {"format", "tailrace raw series"},
      {"version", sidecar_version},
      {"byte_order", std::endian::native == std::endian::little ? "little" : "big"},
      {"axes", {"z", "y", "x"}},
      {"layout", "headerless, x fastest; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh64] in the order of axes"},
      {"attributes", json::object()},
      {"steps", json::array()}};
  if (target_.grid)
    sidecar_["grid"] = {{"points", reversed(target_.grid->points)},
                        {"origin", {target_.grid->origin[2], target_.grid->origin[1], target_.grid->origin[0]}},
                        {"spacing", {target_.grid->spacing[2], target_.grid->spacing[1], target_.grid->spacing[0]}}};
  save(sidecar_);
}

void RawEngine::rewind(std::int64_t last_index) {
  json kept = json::array(), dropped = json::array();
  for (const auto &step : sidecar_.at("steps"))
    (step.at("index").get<std::int64_t>() <= last_index ? kept : dropped).push_back(step);
  if (dropped.empty())
    return;
  sidecar_["steps"] = kept;
  save(sidecar_); // first the list, then the files: never a listed file that is gone
  for (const auto &step : dropped)
    remove_files(step);
  write_xdmf(kept);
}

void RawEngine::remove_files(const json &step) const {
  const auto remove = [&](const std::string &name) {
    if (name.find('/') == std::string::npos) // a sidecar must not make us delete elsewhere
      ::unlink(file(name).c_str());
  };
  for (const auto &variable : step.at("variables"))
    remove(variable.at("file").get<std::string>());
  remove(fmt::format("snapshot-{}.xdmf", step.at("number").get<std::int64_t>()));
}

void RawEngine::save(const json &sidecar) const { replace_file(file("series.json"), sidecar.dump(1), target_.sync); }

std::vector<StepInfo> RawEngine::steps() const {
  std::vector<StepInfo> result;
  for (const auto &step : sidecar_.at("steps"))
    result.push_back({step.at("index").get<std::int64_t>(), step.at("time").get<double>()});
  return result;
}

void RawEngine::begin_step(const StepInfo &step) {
  const auto &earlier = sidecar_.at("steps");
  const std::int64_t last = earlier.empty() ? 0 : earlier.back().at("number").get<std::int64_t>();
  std::int64_t number = last + 1;
  if (ioutput_ > 0) {
    number = step.index / ioutput_;
    if (step.index % ioutput_ != 0 || (!earlier.empty() && number <= last))
      throw InputError(fmt::format("{}: step {} is no multiple of ioutput = {}, by which its files are numbered",
                                   target_.path, step.index, ioutput_));
  }
  step_ = {{"index", step.index}, {"time", step.time}, {"number", number}, {"variables", json::array()}};
}

void RawEngine::write(const Block &block) {
  const std::string name = fmt::format("{}-{}.bin", block.name, step_.at("number").get<std::int64_t>());
  // Listed before it is written, so that abandoning the step removes the part that was.
  step_["variables"].push_back(
      {{"name", block.name}, {"type", name_of(block.type)}, {"shape", reversed(block.place.shape)}, {"file", name}});
  SharedFile shared(target_.comm, file(name), true, transfer_);
  shared.write(0, block.place, size_of(block.type), block.data);
  if (target_.sync) {
    const double start = MPI_Wtime();
    shared.sync();
    target_.counters->sync_seconds += MPI_Wtime() - start;
  }
  shared.close();
}

void RawEngine::end_step(const StepTail &tail) {
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
    write_xdmf(next.at("steps"));
    if (target_.sync)
      sync_path(target_.path);
    save(next); // last: this is what makes it a step
  });
  sidecar_ = std::move(next);
  step_ = json(); // no longer open: there is nothing to abandon
  unsaved_ = false;
}

void RawEngine::abandon_step() noexcept {
  if (target_.comm.rank() == 0 && step_.contains("variables")) {
    remove_files(step_);
    try {
      write_xdmf(sidecar_.at("steps"));
    } catch (const IoError &) { // on a full disk, say: the sidecar counts, and the XDMF is made anew with the next step
    }
  }
  step_ = json();
}

void RawEngine::set_attributes(const Attributes &attributes) {
  sidecar_["attributes"] = attributes_to_json(attributes);
  unsaved_ = true;
}

void RawEngine::close() {
  target_.comm.agree([&] {
    if (target_.comm.rank() == 0 && unsaved_)
      save(sidecar_);
  });
  unsaved_ = false;
}

std::optional<GridDescription> RawEngine::grid() const {
  if (!sidecar_.contains("grid"))
    return std::nullopt;
  GridDescription grid;
  const auto &stored = sidecar_.at("grid");
  for (std::size_t d = 0; d < 3; ++d) {
    grid.points[d] = stored.at("points").at(2 - d);
    grid.origin[d] = stored.at("origin").at(2 - d);
    grid.spacing[d] = stored.at("spacing").at(2 - d);
  }
  return grid;
}

void RawEngine::write_xdmf(const json &steps) const {
  if (steps.empty()) {
    ::unlink(file("series.xdmf").c_str());
    return;
  }
  GridDescription description = grid().value_or(GridDescription{});
  if (!grid()) { // the points are those of the first variable
    if (steps.at(0).at("variables").empty())
      return; // scalars only: nothing to draw
    const auto &shape = steps.at(0).at("variables").at(0).at("shape");
    description.points = {shape.at(2), shape.at(1), shape.at(0)};
  }
  std::vector<XdmfStep> all;
  for (const auto &step : steps) {
    all.push_back({std::to_string(step.at("number").get<std::int64_t>()), step.at("time"), {}});
    for (const auto &variable : step.at("variables"))
      if (variable.at("shape") == reversed(description.points)) // others, cell-centred ones say, lie elsewhere
        all.back().attributes.push_back({variable.at("name"), type_named(variable.at("type")), variable.at("file")});
  }
  replace_file(file(fmt::format("snapshot-{}.xdmf", all.back().name)), xdmf_snapshot(description, all.back()), false);
  replace_file(file("series.xdmf"), xdmf_series(description, all), false);
}

Scalars RawEngine::scalars(std::size_t step) const {
  Scalars result;
  for (const auto &[name, value] : sidecar_.at("steps").at(step).at("scalars").items())
    result[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>(); // JSON has no NaN
  return result;
}

std::vector<VariableInfo> RawEngine::variables(std::size_t step) const {
  std::vector<VariableInfo> result;
  for (const auto &variable : sidecar_.at("steps").at(step).at("variables")) {
    const auto &shape = variable.at("shape");
    result.push_back({variable.at("name"), type_named(variable.at("type")), {shape.at(2), shape.at(1), shape.at(0)}});
  }
  return result;
}

std::string RawEngine::checksums(std::size_t step) const {
  json sums = json::object();
  for (const auto &variable : sidecar_.at("steps").at(step).at("variables"))
    if (variable.contains("checksums"))
      sums[variable.at("name").get<std::string>()] = variable.at("checksums");
  return sums.dump();
}

void RawEngine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  for (const auto &stored : sidecar_.at("steps").at(step).at("variables"))
    if (stored.at("name") == variable.name) {
      const std::string path = file(stored.at("file").get<std::string>());
      const Descriptor binary(path, O_RDONLY);
      read_box(binary.get(), path, 0, variable.shape, box, size_of(variable.type), data);
      return;
    }
  throw InputError(fmt::format("{} has no variable '{}'", target_.path, variable.name)); // Series has looked before
}

} // namespace

std::unique_ptr<Engine> open_raw(const Target &target, Parameters parameters) {
  return std::make_unique<RawEngine>(target, parameters);
}

} // namespace tailrace::io
