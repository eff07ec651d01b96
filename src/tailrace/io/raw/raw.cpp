// Headerless binary files with Xcompact3D's names, which are easy to read in any language; a JSON sidecar that
// describes them; and XDMF files for ParaView and VisIt. A few ranks may write for the others, each into its own file
// or all into one file.

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/engine/aggregation.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/file_array.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <set>

namespace tailrace::io {

using nlohmann::json;

namespace {

/// shared: one file per variable, which all writers share. files: one file per variable and writing rank.
enum class Layout { shared, files };

struct Strategy {
  Aggregators aggregators;
  Layout layout = Layout::shared;
};

/// Takes the two parameters, or the one name that sets both. Throws InputError if they contradict each other.
Strategy take_strategy(Parameters &parameters) {
  const std::map<std::string, std::pair<std::string, std::string>> presets{{"shared", {"all", "shared"}},
                                                                           {"dist", {"all", "files"}},
                                                                           {"node", {"node", "files"}},
                                                                           {"collect", {"one", "shared"}},
                                                                           {"collect_xy", {"plane", "shared"}}};
  std::vector<std::string> names;
  for (const auto &[name, knobs] : presets)
    names.push_back(name);
  const std::string preset = parameters.text("strategy", "shared", names), given = parameters.text("strategy", "");
  const auto knob = [&](const std::string &name, const std::string &value, const std::vector<std::string> &choices) {
    const std::string found = parameters.text(name, value, choices);
    if (!given.empty() && found != value)
      throw InputError(
          fmt::format("parameters strategy = '{}' and {} = '{}' contradict each other: the strategy has {} "
                      "= {}. To fix this, leave one out",
                      given, name, found, name, value));
    return found;
  };
  const auto &[aggregators, layout] = presets.at(preset);
  return {aggregators_named(knob("aggregators", aggregators, {})),
          knob("layout", layout, {"shared", "files"}) == "files" ? Layout::files : Layout::shared};
}

class RawEngine final : public SidecarEngine {
public:
  RawEngine(const OpenRequest &request, Parameters &parameters);

  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;

private:
  /// A file that this rank writes to.
  struct Part {
    std::string path;
    FileDescriptor file;
  };
  std::vector<std::string> files(const json &step) const override;
  void check(const json &described, const VariableInfo &variable) const override;
  void read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;
  void publish_step() override;
  void write_shared(const Block &block, const Communicator *group);
  void write_own(const Block &block, const Communicator *group);
  void fill(const Block &block, const Communicator *group, const std::function<Part()> &open);
  void sync(const Part &part) const;
  static std::string part_name(const json &step, const std::string &variable, std::int64_t writer);
  void list_blocks(json &described, const BlockRows &rows) const override;

  Strategy strategy_;
  std::optional<Aggregation> aggregation_;
  std::int64_t ioutput_ = 0; ///< 0: number the snapshots 1, 2, ...
  std::int64_t number_ = -1; ///< of the last complete step; -1: there is none
};

RawEngine::RawEngine(const OpenRequest &request, Parameters &parameters)
    : SidecarEngine(
          request, "raw",
          "headerless, x fastest, of a variable in one file, or block by block: blocks [number of the file, "
          "offset, z, y, x, nz, ny, nx]; shapes and checksum boxes [z, y, x, nz, ny, nx, xxh3] in the order of "
          "axes") {
  xdmf_.emplace(request.path);
  request.comm.agree([&] {
    strategy_ = take_strategy(parameters);
    ioutput_ = parameters.number("ioutput", 0, 0);
    take(parameters);
    parameters.finish("raw");
  });
  by_blocks_ = strategy_.layout == Layout::files;
  if (request.mode != Mode::read)
    aggregation_.emplace(request.comm, strategy_.aggregators);
  open();
  if (const auto there = steps(); request.mode != Mode::read && !there.empty())
    number_ = std::stoll(
        request.comm.from_root([&] { return std::to_string(whole_number(line(there.size() - 1).at("number"))); }));
}

std::vector<std::string> RawEngine::files(const json &step) const {
  std::vector<std::string> names;
  for (const auto &variable : step.at("variables"))
    if (variable.contains("files"))
      for (const auto &name : variable.at("files"))
        names.push_back(name);
    else if (variable.contains("file"))
      names.push_back(variable.at("file"));
    else if (in_table(variable)) {
      std::set<std::int64_t> writers; // each has the blocks of some ranks
      for (const BlockRow &block : table(step, variable).all())
        writers.insert(block.number);
      for (const std::int64_t writer : writers)
        names.push_back(part_name(step, variable.at("name"), writer));
    }
  names.push_back(XdmfFiles::snapshot(whole_number(step.at("number"))));
  return names;
}

void RawEngine::check(const json &described, const VariableInfo &variable) const {
  if (described.contains("files"))
    check_blocks(described, variable, static_cast<std::int64_t>(described.at("files").size()));
  else if (!in_table(described))
    described.at("file").get<std::string>();
}

void RawEngine::begin_step(const StepInfo &step) {
  std::int64_t number = std::max<std::int64_t>(number_, 0) + 1;
  if (ioutput_ > 0) {
    number = step.index / ioutput_;
    if (step.index % ioutput_ != 0)
      throw InputError(fmt::format("{}: step {} is no multiple of ioutput = {}, by which its files are numbered",
                                   request_.path, step.index, ioutput_));
    if (number <= number_) // appended with another ioutput than before
      throw InputError(fmt::format("{}: step {} with ioutput = {} would have files of the number {}, and those up to "
                                   "{} are of earlier steps. To fix this, append with the same ioutput as before",
                                   request_.path, step.index, ioutput_, number, number_));
  }
  SidecarEngine::begin_step(step);
  step_["number"] = number;
}

void RawEngine::write(const Block &block) {
  const Communicator *group = aggregation_->group(block);
  json &described = add_variable(block);
  if (strategy_.layout == Layout::files)
    return write_own(block, group);
  described["file"] = fmt::format("{}-{}.bin", block.name, step_.at("number").get<std::int64_t>());
  write_shared(block, group);
}

void RawEngine::write_shared(const Block &block, const Communicator *group) {
  const std::string path = file(step_["variables"].back().at("file").get<std::string>());
  const Communicator &comm = request_.comm;
  const bool alone = aggregation_->only_one();
  const auto create = [&] {
    FileDescriptor made = create_file(path);
    preallocate_large(made.get(), path, 0, product(block.place.shape) * static_cast<std::int64_t>(size_of(block.type)));
    return made;
  };
  FileDescriptor created;
  if (!alone) // before the other ranks open the file
    comm.agree([&] {
      if (comm.rank() == 0)
        created = create();
    });
  fill(block, group, [&] {
    if (created)
      return Part{path, std::move(created)};
    return Part{path, alone ? create() : FileDescriptor(path, O_WRONLY | O_NOFOLLOW)};
  });
}

std::string RawEngine::part_name(const json &step, const std::string &variable, std::int64_t writer) {
  return fmt::format("{}-{}.{:04d}.bin", variable, whole_number(step.at("number")), writer);
}

void RawEngine::write_own(const Block &block, const Communicator *group) {
  const auto bytes = block.place.block.size() * static_cast<std::int64_t>(size_of(block.type));
  std::int64_t writer = request_.comm.rank(), offset = 0;
  if (group) {
    writer = group->broadcast_value(writer, 0);
    offset = group->exclusive_scan(bytes);
  }
  if (bytes > 0)
    add_block(writer, offset, block.place.block);
  fill(block, group, [&] {
    const std::string path = file(part_name(step_, block.name, writer));
    return Part{path, create_file(path)};
  });
}

/// Writes the blocks of this rank's group, if this rank is a writer, into the file that `open` opens. A shared file
/// holds the whole variable; any other file holds the blocks one after another in the order of the ranks. Collective.
void RawEngine::fill(const Block &block, const Communicator *group, const std::function<Part()> &open) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const bool shared = strategy_.layout == Layout::shared;
  Part part;
  Writeback writeback(request_.sync);
  std::int64_t begin = 0; // position of the current block in a file of this rank
  int last = -1;          // the rank of the current block
  Box last_box;
  const auto put = [&](int member, const Box &whole, const Block &piece) {
    if (piece.place.block.empty())
      return;
    if (!part.file)
      part = open();
    if (member != last) {
      begin += last_box.size() * size, last = member, last_box = whole;
      if (!shared)
        preallocate_large(part.file.get(), part.path, begin, whole.size() * size);
    }
    const Span span(*request_.trace, Phase::write, piece.place.block.size() * size);
    write_block(part.file.get(), part.path, begin * !shared, shared ? Box{{0, 0, 0}, block.place.shape} : whole, piece,
                &writeback);
  };
  std::exception_ptr failure; // kept until all messages are sent: no rank waits for one that failed
  try {
    if (shared && request_.comm.rank() == 0) // rank 0 creates the file, even if the file stays empty
      part = open();
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    aggregation_->move(group, block, *request_.trace, failure != nullptr, put);
  } catch (...) {
    failure = std::current_exception();
  }
  request_.comm.agree([&] {
    if (failure)
      std::rethrow_exception(failure);
    if (request_.sync && part.file)
      sync(part);
    if (part.file && (!shared || request_.comm.rank() == 0))
      made(part.path);
  });
}

void RawEngine::sync(const Part &part) const {
  const Span span(*request_.trace, Phase::sync);
  if (::fsync(part.file.get()) != 0)
    throw file_error("sync", part.path, errno);
}

/// In a line, `number` is that of a file in a list of names.
void RawEngine::list_blocks(json &described, const BlockRows &rows) const {
  json &names = described["files"] = json::array();
  BlockRows numbered = rows;
  std::map<std::int64_t, std::int64_t> number_of;
  for (BlockRow &block : numbered) {
    const auto [found, added] = number_of.try_emplace(block.number, names.size());
    if (added)
      names.push_back(part_name(step_, described.at("name"), block.number));
    block.number = found->second;
  }
  SidecarEngine::list_blocks(described, numbered);
}

void RawEngine::end_step(const StepMetadata &metadata) {
  const std::int64_t number = step_.at("number");
  SidecarEngine::end_step(metadata);
  number_ = number;
}

void RawEngine::publish_step() {
  if (strategy_.layout == Layout::shared) // XDMF cannot describe a variable in several files
    SidecarEngine::publish_step();
}

void RawEngine::read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const json &described = stored(step, variable.name);
  const std::size_t size = size_of(variable.type);
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size));
  if (described.contains("file")) {
    const std::string path = file(described.at("file").get<std::string>());
    const FileDescriptor binary(path, O_RDONLY | O_NOFOLLOW);
    return read_box(binary.get(), path, 0, variable.shape, box, size, data);
  }
  Part from; // one file at a time, because a process may open only so many files
  std::int64_t open = -1;
  for (const auto &[number, offset, block, part] : blocks_of(step, variable, box)) {
    if (number != open) {
      from.path =
          file(in_table(described) ? part_name(line(step), variable.name, number)
                                   : described.at("files").at(static_cast<std::size_t>(number)).get<std::string>());
      from.file = FileDescriptor(from.path, O_RDONLY | O_NOFOLLOW);
      open = number;
    }
    read_part(from.file.get(), from.path, offset, block, part, box, size, data);
  }
}

std::unique_ptr<Engine> open_raw(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<RawEngine>(request, parameters);
}

} // namespace

EngineEntry raw_entry() {
  EngineTraits traits{.name = "raw", .family = "raw", .aliases = {"xdmf"}, .file_names = true};
  traits.remains = {"series.jsonl", "series.xdmf"};
  traits.longest_name = 200; // of a file at most 255, with its number and what drafts are called
  traits.step_files = {"{variable}-[0-9]*.bin", "snapshot-[0-9]*.xdmf", "series.xdmf"};
  traits.model = {.pattern = "aggregators", .preference = 4};
  return sidecar_entry(std::move(traits), open_raw);
}

} // namespace tailrace::io
