// SIONlib containers, one per step: the stream of every rank holds its blocks of all variables one after another, and
// the JSON sidecar lists where each block starts. So a few files hold the blocks of many ranks, ranks write without
// messages to other ranks, and any number of ranks can read them.

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>
#include <tailrace/io/sion/container.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace tailrace::io {

using nlohmann::json;

namespace {

/// Default. More than one, because on most file systems ranks that write into one file wait for each other.
constexpr std::int64_t most_files = 16;
constexpr std::int64_t most_numbered = 1'000'000; ///< files whose number has six digits

class SionEngine final : public SidecarEngine {
public:
  SionEngine(const OpenRequest &request, Parameters &parameters);

  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;

private:
  std::vector<std::string> files(const json &step) const override;
  void check(const json &described, const VariableInfo &variable) const override;
  void close_files() const override { open_.reset(); }
  void read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;
  void create_container(std::int64_t first_bytes);
  std::int64_t block_bytes_for(const std::vector<std::int64_t> &chunks) const;
  const SionReader &container(const std::string &name) const;

  int files_ = 1;
  std::int64_t chunk_bytes_ = 0, block_bytes_ = 0;
  // Of the open step:
  std::optional<SionLayout> layout_; ///< on rank 0
  std::optional<SionStream> stream_;
  std::int64_t written_ = 0; ///< bytes of this rank's stream
  // The last container that was read:
  mutable std::string open_name_;
  mutable std::optional<SionReader> open_;
};

SionEngine::SionEngine(const OpenRequest &request, Parameters &parameters)
    : SidecarEngine(request, "sion",
                    "SIONlib containers, one per step; blocks [task, offset in its stream, z, y, x, nz, ny, nx], x "
                    "fastest; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh3] in the order of axes") {
  by_blocks_ = true;
  request.comm.agree([&] {
    files_ = static_cast<int>(std::min<std::int64_t>(parameters.number("files", most_files, 1), request.comm.size()));
    chunk_bytes_ = parameters.number("chunk_bytes", 0, 0);
    block_bytes_ = parameters.number("block_bytes", 0, 0);
    take(parameters);
    parameters.finish("sion");
    if (request.comm.rank() != 0)
      return;
    // Sizes that are not valid are errors here, not in the first step.
    const std::vector<std::int64_t> chunks(static_cast<std::size_t>(request.comm.size()), chunk_bytes_);
    SionLayout(request.path, chunks, files_, block_bytes_for(chunks));
  });
  open();
}

std::vector<std::string> SionEngine::files(const json &step) const {
  std::vector<std::string> names;
  if (step.at("variables").empty())
    return names;
  const std::int64_t files = whole_number(step.at("files"));
  if (files < 1 || files > most_numbered)
    throw IoError(fmt::format("its container has {} files; expected 1 to {}", files, most_numbered));
  for (int number = 0; number < files; ++number)
    names.push_back(SionLayout::file(step.at("file").get<std::string>(), number));
  return names;
}

void SionEngine::check(const json &described, const VariableInfo &variable) const {
  if (!in_table(described))
    check_blocks(described, variable, std::numeric_limits<std::int32_t>::max()); // of the tasks in the container
}

/// The size of which chunks are multiples, if the user set none: the memory page, or for large chunks the huge page,
/// because the system handles chunks faster if they start on such a page.
std::int64_t SionEngine::block_bytes_for(const std::vector<std::int64_t> &chunks) const {
  if (block_bytes_ > 0)
    return block_bytes_;
  const std::int64_t smallest = *std::min_element(chunks.begin(), chunks.end());
  return smallest >= large_chunk_bytes ? large_chunk_alignment : 4096;
}

void SionEngine::create_container(std::int64_t first_bytes) {
  const std::string name = fmt::format("step-{:08d}.sion", step_.at("index").get<std::int64_t>());
  const std::vector<std::int64_t> chunk{chunk_bytes_ > 0 ? chunk_bytes_ : first_bytes};
  const std::vector<std::int64_t> chunks = request_.comm.gather(chunk, 0);
  step_["file"] = name;
  step_["files"] = files_;
  written_ = 0;
  std::vector<std::string> places; // of all tasks
  request_.comm.agree([&] {
    if (request_.comm.rank() != 0)
      return;
    layout_.emplace(file(name), chunks, files_, block_bytes_for(chunks));
    layout_->create([this](const std::string &path) { return create_file(path); });
    for (int task = 0; task < layout_->tasks(); ++task) {
      const SionPlace place = layout_->place(task);
      places.emplace_back(reinterpret_cast<const char *>(&place), sizeof place);
    }
  });
  SionPlace ours;
  request_.comm.scatter(places, 0).copy(reinterpret_cast<char *>(&ours), sizeof ours);
  request_.comm.agree([&] { stream_.emplace(file(name), ours, request_.sync); });
}

void SionEngine::write(const Block &block) {
  const Box &part = block.place.block, &memory = block.place.memory;
  const auto bytes = static_cast<std::int64_t>(size_of(block.type));
  if (!stream_)
    create_container(part.size() * bytes);
  add_variable(block);
  if (!part.empty())
    add_block(request_.comm.rank(), written_, part);
  request_.comm.agree([&] {
    const Span span(*request_.trace, Phase::write, part.size() * bytes);
    stream_->reserve(part.size() * bytes);
    const char *data = static_cast<const char *>(block.data);
    grid::for_each_run(part, memory, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t done = 0; done < count * bytes; done += piece_bytes) {
        const std::int64_t size = std::min(piece_bytes, count * bytes - done);
        const char *piece = data + first * bytes + done;
        if (block.checksum)
          block.checksum->add(piece, static_cast<std::size_t>(size));
        stream_->write(piece, size);
      }
    });
  });
  written_ += part.size() * bytes;
}

void SionEngine::end_step(const StepMetadata &metadata) {
  if (stream_) {
    std::vector<std::int64_t> used;
    request_.comm.agree([&] {
      if (request_.sync) {
        const Span span(*request_.trace, Phase::sync);
        stream_->flush(true);
      }
      used = stream_->close();
    });
    const std::string bytes(reinterpret_cast<const char *>(used.data()), used.size() * sizeof(std::int64_t));
    std::vector<std::vector<std::int64_t>> of_tasks;
    for (const std::string &text : request_.comm.gather(bytes, 0)) {
      of_tasks.emplace_back(text.size() / sizeof(std::int64_t));
      text.copy(reinterpret_cast<char *>(of_tasks.back().data()), text.size());
    }
    request_.comm.agree([&] {
      if (request_.comm.rank() != 0)
        return;
      layout_->finish(of_tasks);
      for (int number = 0; number < files_ && request_.sync; ++number)
        sync_path(layout_->file(number));
    });
  }
  SidecarEngine::end_step(metadata);
  stream_.reset();
  layout_.reset();
}

void SionEngine::abandon_step() noexcept {
  stream_.reset();
  layout_.reset();
  SidecarEngine::abandon_step();
}

const SionReader &SionEngine::container(const std::string &name) const {
  if (!open_ || open_name_ != name) {
    open_.reset();
    open_.emplace(file(name));
    open_name_ = name;
  }
  return *open_;
}

void SionEngine::read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const SionReader &streams = container(line(step).at("file").get<std::string>());
  const auto bytes = static_cast<std::int64_t>(size_of(variable.type));
  const Span span(*request_.trace, Phase::read, box.size() * bytes);
  for (const auto &[task, offset, block, part] : blocks_of(step, variable, box)) {
    if (task >= streams.tasks())
      throw IoError(fmt::format("cannot read {}: its block {} of {} is of task {}; expected one of {}",
                                file("series.jsonl"), describe(block), variable.name, task, streams.tasks()));
    grid::for_each_run(part, block, box,
                       [&, task = task, offset = offset](std::int64_t from, std::int64_t to, std::int64_t count) {
                         streams.read(static_cast<int>(task), offset + from * bytes, count * bytes,
                                      static_cast<char *>(data) + to * bytes);
                       });
  }
}

std::unique_ptr<Engine> open_sion(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<SionEngine>(request, parameters);
}

} // namespace

EngineEntry sion_entry() {
  EngineTraits traits{.name = "sion", .family = "sion", .extensions = {".sion"}, .remains = {"*.sion"}};
  traits.step_files = {"step-[0-9]*.sion", "step-[0-9]*.sion.[0-9][0-9][0-9][0-9][0-9][0-9]"};
  traits.model = {.pattern = "containers", .preference = 6};
  return sidecar_entry(std::move(traits), open_sion);
}

} // namespace tailrace::io
