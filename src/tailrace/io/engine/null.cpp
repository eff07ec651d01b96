// Writes nothing. A Series still checks names, shapes and order, computes checksums, and counts bytes, steps and
// seconds. So this engine shows the lowest possible cost in a benchmark, and serves runs that only measure.

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/engine_entry.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::io {

namespace {

class NullEngine final : public StepSink {
public:
  NullEngine(const OpenRequest &request, const Parameters &parameters) : grid_(request.grid) {
    request.comm.agree([&] {
      parameters.finish("null");
      if (request.mode != Mode::write)
        throw InputError(fmt::format("cannot {} {}: the engine null keeps nothing, it can only be written to",
                                     request.mode == Mode::read ? "read" : "append to", request.path));
    });
  }

  std::vector<StepInfo> steps() const override { return {}; }
  void begin_step(const StepInfo &) override {}
  void write(const Block &block) override {
    if (block.checksum)
      add_block(*block.checksum, block.place, size_of(block.type), block.data);
  }
  void end_step(const StepMetadata &) override {}
  void abandon_step() noexcept override {}
  void set_attributes(const Attributes &) override {}
  void close() override {}

  std::optional<GridDescription> grid() const override { return grid_; }
  Attributes attributes() const override { return {}; }

private:
  std::optional<GridDescription> grid_;
};

std::unique_ptr<Engine> open_null(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<NullEngine>(request, parameters);
}

} // namespace

EngineEntry null_entry() { return {{.name = "null", .family = "none", .stores = false}, open_null}; }

} // namespace tailrace::io
