// Headerless binary files under Xcompact3D's names, one per variable and snapshot, which any language reads in a line;
// the JSON sidecar that says what they hold; and XDMF files that let ParaView and VisIt open them.

#include <tailrace/io/files.hpp>
#include <tailrace/io/shared_file.hpp>
#include <tailrace/io/sidecar_engine.hpp>
#include <tailrace/io/xdmf.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace tailrace::io {

using nlohmann::json;

namespace {

class RawEngine final : public SidecarEngine {
public:
  RawEngine(const Target &target, Parameters &parameters);

  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  std::vector<std::string> files(const json &step) const override;
  void check(const json &step) const override { files(step); }
  void publish(const json &steps) const override;

  Transfer transfer_ = Transfer::independent;
  std::int64_t ioutput_ = 0; ///< 0: number the snapshots 1, 2, ...
};

RawEngine::RawEngine(const Target &target, Parameters &parameters)
    : SidecarEngine(
          target, "raw",
          "headerless, x fastest; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh64] in the order of axes") {
  target.comm.agree([&] {
    transfer_ = transfer_named(parameters.text("transfer", "independent", {"independent", "collective"}));
    ioutput_ = parameters.number("ioutput", 0, 0);
    parameters.finish("raw");
  });
  open();
}

std::vector<std::string> RawEngine::files(const json &step) const {
  std::vector<std::string> names;
  for (const auto &variable : step.at("variables"))
    names.push_back(variable.at("file"));
  names.push_back(fmt::format("snapshot-{}.xdmf", step.at("number").get<std::int64_t>()));
  return names;
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
  SidecarEngine::begin_step(step);
  step_["number"] = number;
}

void RawEngine::write(const Block &block) {
  const std::string name = fmt::format("{}-{}.bin", block.name, step_.at("number").get<std::int64_t>());
  // Listed before it is written, so that abandoning the step removes the part that was.
  add_variable(block)["file"] = name;
  SharedFile shared(target_.comm, file(name), true, transfer_);
  shared.write(0, block.place, size_of(block.type), block.data);
  if (target_.sync) {
    const double start = MPI_Wtime();
    shared.sync();
    target_.counters->sync_seconds += MPI_Wtime() - start;
  }
  shared.close();
}

void RawEngine::publish(const json &steps) const {
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
  const json drawn{description.points[2], description.points[1], description.points[0]};
  std::vector<XdmfStep> all;
  for (const auto &step : steps) {
    all.push_back({std::to_string(step.at("number").get<std::int64_t>()), step.at("time"), {}});
    for (const auto &variable : step.at("variables"))
      if (variable.at("shape") == drawn) // others, cell-centred ones say, lie elsewhere
        all.back().attributes.push_back({variable.at("name"), type_named(variable.at("type")), variable.at("file")});
  }
  replace_file(file(fmt::format("snapshot-{}.xdmf", all.back().name)), xdmf_snapshot(description, all.back()), false);
  replace_file(file("series.xdmf"), xdmf_series(description, all), false);
}

void RawEngine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const std::string path = file(stored(step, variable.name).at("file").get<std::string>());
  const Descriptor binary(path, O_RDONLY);
  read_box(binary.get(), path, 0, variable.shape, box, size_of(variable.type), data);
}

} // namespace

std::unique_ptr<Engine> open_raw(const Target &target, Parameters parameters) {
  return std::make_unique<RawEngine>(target, parameters);
}

} // namespace tailrace::io
