// Writes nothing. A Series checks names, shapes, order and checksums and counts bytes, steps and seconds before and
// around its engine; with this one it does so and no more, which is the floor under every benchmark of an engine, and
// what a run wants that only measures.

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/engine.hpp>
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

} // namespace

std::unique_ptr<Engine> open_null(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<NullEngine>(request, parameters);
}

} // namespace tailrace::io
