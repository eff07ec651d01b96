// Headerless binary files under Xcompact3D's names, one per variable and snapshot, which any language reads in a line;
// the JSON sidecar that says what they hold; and XDMF files that let ParaView and VisIt open them.

#include <tailrace/io/files.hpp>
#include <tailrace/io/shared_file.hpp>
#include <tailrace/io/sidecar_engine.hpp>
#include <tailrace/io/xdmf.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace tailrace::io {

using nlohmann::json;

namespace {

class RawEngine final : public SidecarEngine {
public:
  RawEngine(const Target &target, Parameters &parameters);

  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  std::vector<std::string> files(const json &step) const override;
  void check(const json &step) const override { files(step); }
  void publish_step() override;
  void publish_all() override;
  void draw(const json &step);

  Transfer transfer_ = Transfer::independent;
  std::int64_t ioutput_ = 0; ///< 0: number the snapshots 1, 2, ...
  std::int64_t number_ = -1; ///< of the last complete step
  GridDescription drawn_;    ///< rank 0: where the points of the variables in XDMF files are; no points: not known yet
  std::vector<XdmfStep> snapshots_;
};

RawEngine::RawEngine(const Target &target, Parameters &parameters)
    : SidecarEngine(
          target, "raw",
          "headerless, x fastest; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh3] in the order of axes") {
  target.comm.agree([&] {
    transfer_ = transfer_named(parameters.text("transfer", "independent", {"independent", "collective"}));
    ioutput_ = parameters.number("ioutput", 0, 0);
    parameters.finish("raw");
  });
  open();
  if (const auto there = steps(); !there.empty())
    number_ = line(there.size() - 1).at("number");
}

std::vector<std::string> RawEngine::files(const json &step) const {
  std::vector<std::string> names;
  for (const auto &variable : step.at("variables"))
    names.push_back(variable.at("file"));
  names.push_back(fmt::format("snapshot-{}.xdmf", step.at("number").get<std::int64_t>()));
  return names;
}

void RawEngine::begin_step(const StepInfo &step) {
  std::int64_t number = std::max<std::int64_t>(number_, 0) + 1;
  if (ioutput_ > 0) {
    number = step.index / ioutput_;
    if (step.index % ioutput_ != 0 || number <= number_)
      throw InputError(fmt::format("{}: step {} is no multiple of ioutput = {}, by which its files are numbered",
                                   target_.path, step.index, ioutput_));
  }
  SidecarEngine::begin_step(step);
  step_["number"] = number;
}

void RawEngine::end_step(const StepTail &tail) {
  const std::int64_t number = step_.at("number");
  SidecarEngine::end_step(tail);
  number_ = number;
}

void RawEngine::write(const Block &block) {
  const std::string name = fmt::format("{}-{}.bin", block.name, step_.at("number").get<std::int64_t>());
  // Listed before it is written, so that abandoning the step removes the part that was.
  add_variable(block)["file"] = name;
  SharedFile shared(target_.comm, file(name), true, transfer_);
  {
    const Span span(*target_.trace, Phase::write,
                    block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
    shared.write(0, block);
  }
  if (target_.sync) {
    const Span span(*target_.trace, Phase::sync);
    shared.sync();
  }
  shared.close();
}

/// Adds a step to the snapshots, as programs that read XDMF see it.
void RawEngine::draw(const json &step) {
  const auto &variables = step.at("variables");
  if (drawn_.points == Index3{0, 0, 0} && grid())
    drawn_ = *grid();
  if (drawn_.points == Index3{0, 0, 0} && !variables.empty()) { // nobody told: the points are those of the first one
    const auto &shape = variables.at(0).at("shape");
    drawn_.points = {shape.at(2), shape.at(1), shape.at(0)};
  }
  const json points{drawn_.points[2], drawn_.points[1], drawn_.points[0]};
  snapshots_.push_back({std::to_string(step.at("number").get<std::int64_t>()), step.at("time"), {}});
  for (const auto &variable : variables)
    if (variable.at("shape") == points) // others, cell-centred ones say, lie elsewhere
      snapshots_.back().attributes.push_back(
          {variable.at("name"), type_named(variable.at("type")), variable.at("file")});
}

void RawEngine::publish_step() {
  draw(step_);
  const XdmfStep &last = snapshots_.back();
  replace_file(file(fmt::format("snapshot-{}.xdmf", last.name)), xdmf_snapshot(drawn_, last), false);
  replace_file(file("series.xdmf"), xdmf_series(drawn_, snapshots_), false);
}

void RawEngine::publish_all() {
  snapshots_.clear();
  for (std::size_t step = 0; step < steps().size(); ++step)
    draw(line(step));
  if (snapshots_.empty())
    ::unlink(file("series.xdmf").c_str());
  else
    replace_file(file("series.xdmf"), xdmf_series(drawn_, snapshots_), false);
}

void RawEngine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const std::string path = file(stored(step, variable.name).at("file").get<std::string>());
  const Span span(*target_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const Descriptor binary(path, O_RDONLY);
  read_box(binary.get(), path, 0, variable.shape, box, size_of(variable.type), data);
}

} // namespace

std::unique_ptr<Engine> open_raw(const Target &target, Parameters parameters) {
  return std::make_unique<RawEngine>(target, parameters);
}

} // namespace tailrace::io
