// ADIOS2 engines; today bp5. Every series carries `step` (index) and `time` as variables and, for ParaView, the
// attribute `vtk.xml`.
//
// Defaults where we part from ADIOS2 (measured on one node with a local disk): every rank writes its own subfile on
// runs of up to 64 ranks, twice as fast as one aggregator a node. StatsLevel stays at 1: minimum and maximum of every
// block cost one pass over memory and give bpls -l and readers' pruning something to work with; set StatsLevel=0 to
// save that pass.
//
// ADIOS2 throws on the rank that fails and leaves the others waiting in collectives. So rank 0 tries first what all are
// about to do (does the file open, is there room on the disk), and all ranks agree before they go in. And it waits for
// ever for bytes that a data file lacks: tailrace.json beside the data files tells their sizes, so that we see it
// first.

#include <tailrace/io/attributes_json.hpp>
#include <tailrace/io/block.hpp>
#include <tailrace/io/bp_contents.hpp>
#include <tailrace/io/bp_record.hpp>
#include <tailrace/io/engine.hpp>
#include <tailrace/io/files.hpp>
#include <tailrace/io/xdmf.hpp>

#include <fmt/format.h>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

constexpr int most_subfiles = 64;
const std::string checksums_name = "tailrace/checksums";

const std::vector<std::string> bp5_parameters{"OpenTimeoutSecs",
                                              "BeginStepPollingFrequencySecs",
                                              "AggregationType",
                                              "NumAggregators",
                                              "AggregatorRatio",
                                              "NumSubFiles",
                                              "StripeSize",
                                              "MaxShmSize",
                                              "UseSelectiveMetadataAggregation",
                                              "OneLevelGatherRanksLimit",
                                              "BufferVType",
                                              "BufferChunkSize",
                                              "MinDeferredSize",
                                              "InitialBufferSize",
                                              "GrowthFactor",
                                              "AsyncOpen",
                                              "AsyncWrite",
                                              "DirectIO",
                                              "DirectIOAlignOffset",
                                              "DirectIOAlignBuffer",
                                              "StatsLevel",
                                              "MaxOpenFilesAtOnce",
                                              "Threads",
                                              "MetadataThreads",
                                              "EnableWriterRerouting",
                                              "ReroutingThresholdFactor",
                                              "verbose"};

using bp::dims;

class Adios2Engine final : public Engine {
public:
  Adios2Engine(const std::string &kind, const Target &target, Parameters &parameters);

  std::vector<StepInfo> steps() const override { return steps_; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override { broken_ = in_step_; }
  void set_attributes(const Attributes &attributes) override { attributes_ = attributes; }
  void close() override;

  std::optional<GridDescription> grid() const override;
  Attributes attributes() const override { return attributes_; }
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  bool root() const { return target_.comm.rank() == 0; }
  void probe(std::size_t &kept);
  void share();
  void open(std::size_t kept);
  template <class T> adios2::Variable<T> variable(const std::string &name, const adios2::Dims &shape = {});
  template <class T> void put(const Block &block);
  void check_room(std::int64_t bytes) const;
  void define_attributes();

  std::string kind_;
  Target target_;
  std::vector<StepInfo> steps_;
  Attributes attributes_;
  std::optional<GridDescription> grid_;
  std::map<std::string, Index3> shapes_; ///< of the variables written
  std::int64_t step_bytes_ = 0;          ///< of the open step, on this rank
  StepInfo step_;
  bool in_step_ = false, broken_ = false, asynchronous_ = false;
  adios2::ADIOS adios_;
  mutable adios2::IO io_; // ADIOS2 sets selections on the variables themselves, also to read
  mutable adios2::Engine engine_;
};

/// Runs an ADIOS2 call and turns its exceptions, several lines with file names of ADIOS2 inside, into ours.
template <class Work> auto translate(const std::string &what, Work work) {
  try {
    return work();
  } catch (const Error &) {
    throw;
  } catch (const std::exception &error) {
    throw IoError(fmt::format("cannot {}: {}", what, error.what()));
  }
}

Adios2Engine::Adios2Engine(const std::string &kind, const Target &target, Parameters &parameters)
    : kind_(kind), target_(target), adios_(target.comm.get()) {
  std::map<std::string, std::string> engine_parameters;
  std::size_t kept = 0;
  target.comm.agree([&] {
    engine_parameters = parameters.pass_through(bp5_parameters);
    parameters.finish(kind);
    if (!root())
      return;
    check_target(target.path, target.mode, Kind::directory);
    if (target.mode == Mode::read || (target.mode == Mode::append && fs::exists(target.path)))
      probe(kept);
    if (target.mode != Mode::read)
      remove_bp_record(target.path);
  });
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("BP5");
  const bool own_aggregation = engine_parameters.count("NumAggregators") ||
                               engine_parameters.count("AggregatorRatio") || engine_parameters.count("NumSubFiles") ||
                               engine_parameters.count("AggregationType");
  if (!own_aggregation && target.comm.size() <= most_subfiles) {
    io_.SetParameter("AggregationType", "EveryoneWrites");
    io_.SetParameter("NumAggregators", std::to_string(target.comm.size()));
  }
  asynchronous_ = engine_parameters.count("AsyncWrite") > 0;
  for (const auto &[name, value] : engine_parameters)
    io_.SetParameter(name, value);
  open(kept);
}

/// Whether the writer came to the end of a step. If it did not, ADIOS2 crashes on the file, or calls it one of another
/// version: its index, a header of 64 bytes and then the steps, is empty or zeros shorter than the header.
bool has_steps(const std::string &path) { return fs::file_size(fs::path(path) / "md.idx") > 64; }

/// Rank 0 alone: opens the file and reads its steps. `kept`: how many of them a rewind leaves.
void Adios2Engine::probe(std::size_t &kept) {
  if (!fs::exists(fs::path(target_.path) / "md.idx"))
    throw IoError(fmt::format("cannot {} {}: it holds no md.idx, so it is not a BP5 series",
                              target_.mode == Mode::read ? "read" : "append to", target_.path));
  const Attributes recorded = check_bp_record(target_.path);
  if (!has_steps(target_.path)) {
    attributes_ = recorded;
    return;
  }
  translate("open " + target_.path, [&] {
    adios2::ADIOS alone(MPI_COMM_SELF);
    adios2::IO io = alone.DeclareIO("probe");
    io.SetEngine("BP5");
    adios2::Engine engine = io.Open(target_.path, adios2::Mode::ReadRandomAccess, MPI_COMM_SELF);
    steps_ = bp::steps(io, engine);
    attributes_ = bp::read_attributes(io);
    engine.Close();
  });
  for (const auto &[name, value] : recorded)
    attributes_[name] = value;
  if (target_.rewind_to)
    std::erase_if(steps_, [&](const StepInfo &step) { return step.index > *target_.rewind_to; });
  kept = steps_.size();
}

/// Tells the other ranks what rank 0 found.
void Adios2Engine::share() {
  std::int64_t count = static_cast<std::int64_t>(steps_.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_INT64_T, 0, target_.comm.get()), "MPI_Bcast");
  steps_.resize(static_cast<std::size_t>(count));
  static_assert(sizeof(StepInfo) == 16);
  check_mpi(MPI_Bcast(steps_.data(), static_cast<int>(16 * count), MPI_BYTE, 0, target_.comm.get()), "MPI_Bcast");
  const std::string text = target_.comm.broadcast(attributes_to_json(attributes_).dump(), 0);
  attributes_ = attributes_from_json(nlohmann::json::parse(text));
}

void Adios2Engine::open(std::size_t kept) {
  share();
  const std::int64_t after = target_.comm.max(static_cast<std::int64_t>(kept));
  const bool append = target_.mode == Mode::append && after > 0; // to a file without steps ADIOS2 appends rubbish
  if (append)
    io_.SetParameter("AppendAfterSteps", std::to_string(after));
  if (target_.mode == Mode::read && steps_.empty())
    return; // see has_steps
  const auto mode = target_.mode == Mode::read ? adios2::Mode::ReadRandomAccess
                    : append                   ? adios2::Mode::Append
                                               : adios2::Mode::Write;
  target_.comm.agree([&] { translate("open " + target_.path, [&] { engine_ = io_.Open(target_.path, mode); }); });
  if (target_.mode == Mode::read)
    grid_ = bp::read_grid(io_);
}

template <class T> adios2::Variable<T> Adios2Engine::variable(const std::string &name, const adios2::Dims &shape) {
  if (auto known = io_.InquireVariable<T>(name))
    return known;
  return shape.empty() ? io_.DefineVariable<T>(name)
                       : io_.DefineVariable<T>(name, shape, adios2::Dims(3, 0), adios2::Dims(3, 0));
}

void Adios2Engine::begin_step(const StepInfo &step) {
  if (broken_)
    throw IoError(fmt::format(
        "{} is out of use since an error; ADIOS2 cannot drop the step it was in. To go on, open it to append",
        target_.path));
  step_ = step;
  step_bytes_ = 0;
  in_step_ = true;
  target_.comm.agree([&] { translate("begin a step of " + target_.path, [&] { engine_.BeginStep(); }); });
}

template <class T> void Adios2Engine::put(const Block &block) {
  const auto &[shape, part, memory] = block.place;
  auto target = variable<T>(block.name, dims(shape));
  if (part.empty())
    return;
  target.SetSelection({dims(part.start), dims(part.count)});
  adios2::Box<adios2::Dims> selection{{}, {}};
  if (!(memory == part)) {
    const Index3 inside{part.start[0] - memory.start[0], part.start[1] - memory.start[1],
                        part.start[2] - memory.start[2]};
    selection = {dims(inside), dims(memory.count)};
  }
  target.SetMemorySelection(selection);
  engine_.Put(target, static_cast<const T *>(block.data),
              adios2::Mode::Sync); // copied: the caller's array is free again
}

void Adios2Engine::write(const Block &block) {
  target_.comm.agree([&] {
    if (block.checksum)
      add_block(*block.checksum, block.place, size_of(block.type), block.data);
    const Span span(*target_.trace, Phase::write,
                    block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
    translate("write " + target_.path, [&] { with_type(block.type, [&](auto zero) { put<decltype(zero)>(block); }); });
  });
  shapes_[block.name] = block.place.shape;
  step_bytes_ += block.place.block.size() * static_cast<std::int64_t>(size_of(block.type));
}

/// A full disk is found before the collective write, in which ADIOS2 would hang. Quotas do not show here.
void Adios2Engine::check_room(std::int64_t bytes) const {
  struct statvfs disk{};
  if (::statvfs(target_.path.c_str(), &disk) != 0)
    throw file_error("write", target_.path, errno);
  const std::int64_t metadata = (1 << 20) + std::int64_t{1 << 14} * target_.comm.size();
  const auto room = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  if (room < bytes + metadata)
    throw IoError(fmt::format("{}. The step needs {} bytes, and {} are left",
                              file_error("write", target_.path, ENOSPC).what(), bytes + metadata, room));
}

void Adios2Engine::end_step(const StepTail &tail) {
  const std::int64_t bytes = target_.comm.sum(step_bytes_);
  target_.comm.agree([&] {
    if (root())
      check_room(bytes);
    translate("write " + target_.path, [&] {
      define_attributes();
      auto index = variable<std::int64_t>("step");
      auto time = variable<double>("time");
      auto sums = variable<std::string>(checksums_name);
      if (!root())
        return;
      engine_.Put(index, step_.index, adios2::Mode::Sync);
      engine_.Put(time, step_.time, adios2::Mode::Sync);
      for (const auto &[name, scalar] : tail.scalars)
        std::visit(
            [&, &name = name](const auto &value) {
              engine_.Put(variable<std::decay_t<decltype(value)>>(name), value, adios2::Mode::Sync);
            },
            scalar);
      if (!tail.checksums.empty())
        engine_.Put(sums, tail.checksums, adios2::Mode::Sync);
    });
  });
  target_.comm.agree([&] { translate("write " + target_.path, [&] { engine_.EndStep(); }); });
  in_step_ = false;
  steps_.push_back(step_);
  if (root() && !asynchronous_) // else the files are still growing
    write_bp_record(target_.path, attributes_, target_.sync);
  if (!target_.sync)
    return;
  const Span span(*target_.trace, Phase::sync);
  target_.comm.agree([&] {
    if (!root())
      return;
    for (const auto &entry : fs::directory_iterator(target_.path))
      sync_path(entry.path().string());
    sync_path(target_.path);
    sync_parent(target_.path);
  });
}

void Adios2Engine::define_attributes() {
  bp::write_attributes(io_, attributes_);
  if (!steps_.empty())
    return;
  if (target_.grid)
    bp::write_grid(io_, *target_.grid);
  if (shapes_.empty())
    return;
  const GridDescription grid = target_.grid.value_or(GridDescription{shapes_.begin()->second, {0, 0, 0}, {1, 1, 1}});
  std::vector<std::string> names;
  for (const auto &[name, shape] : shapes_)
    if (shape == grid.points)
      names.push_back(name);
  io_.DefineAttribute<std::string>("vtk.xml", vtk_image_xml(grid, names), "", "/", true);
}

void Adios2Engine::close() {
  if (!engine_ || broken_)
    return;
  target_.comm.agree([&] { translate("close " + target_.path, [&] { engine_.Close(); }); });
  if (root() && target_.mode != Mode::read)
    write_bp_record(target_.path, attributes_, target_.sync);
}

// ---- reading ----

std::optional<GridDescription> Adios2Engine::grid() const { return target_.mode == Mode::read ? grid_ : target_.grid; }

std::vector<VariableInfo> Adios2Engine::variables(std::size_t step) const { return bp::variables(io_, engine_, step); }

Scalars Adios2Engine::scalars(std::size_t step) const {
  return translate("read " + target_.path, [&] { return bp::scalars(io_, engine_, step); });
}

std::string Adios2Engine::checksums(std::size_t step) const {
  return translate("read " + target_.path, [&] { return bp::text(io_, engine_, step, checksums_name); });
}

void Adios2Engine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const Span span(*target_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  translate(fmt::format("read {} of {}", variable.name, target_.path),
            [&] { bp::read(io_, engine_, step, variable, box, data); });
}

} // namespace

std::unique_ptr<Engine> open_adios2(const std::string &kind, const Target &target, Parameters parameters) {
  return std::make_unique<Adios2Engine>(kind, target, parameters);
}

} // namespace tailrace::io

#else

namespace tailrace::io {

std::unique_ptr<Engine> open_adios2(const std::string &kind, const Target &, Parameters) {
  throw InputError(
      fmt::format("engine {} needs ADIOS2, and this Tailrace was built without it. To fix this, run "
                  "tools/build_adios2.sh and build again with -DTAILRACE_WITH_ADIOS2=ON, or use hdf5 or raw",
                  kind));
}

} // namespace tailrace::io

#endif
