// One VTKHDF file (ImageData with steps): ParaView, VTK, pyvista and h5py open it as it is. vtkhdf.hpp says what stands
// where.
//
// Data and metadata go different ways. Rank 0 alone has the file open in HDF5, serially, and only while a step is
// written; it makes room for a variable and tells the others at which byte its chunks lie; all ranks then write their
// own rows there. So there is one writer of metadata, no collective metadata call, and nothing that waits for a rank
// that ran into a full disk, as parallel HDF5 does. Any HDF5 serves, parallel or not.
//
// Crash safety. HDF5 changes its metadata in place, and a program killed while it does so leaves a file that may not
// open again. So a journal of the old metadata lies beside the file while a step is written (see journal.hpp): a cut
// step is rolled back by the next program that opens the series. Data are only ever written where no complete step has
// its own. Until the very last moment of a step the file is also valid without the roll-back: NSteps does not count the
// open step.

#include <tailrace/io/engine.hpp>
#include <tailrace/io/files.hpp>
#include <tailrace/io/journal.hpp>
#include <tailrace/io/shared_file.hpp>
#include <tailrace/io/vtkhdf.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace {

constexpr double patience = 10; // seconds to wait for the writer of a step

class Hdf5Engine final : public Engine {
public:
  Hdf5Engine(const Target &target, Parameters &parameters);
  ~Hdf5Engine() override { abandon_step(); }

  std::vector<StepInfo> steps() const override { return contents_.steps; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::optional<GridDescription> grid() const override { return contents_.grid; }
  Attributes attributes() const override { return contents_.attributes; }
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  bool root() const { return target_.comm.rank() == 0; }
  std::int64_t row() const { return static_cast<std::int64_t>(contents_.steps.size()); }
  void create();
  void load();
  void rewind(std::int64_t last_index);
  void begin_change();
  void commit_change();
  const vtkhdf::Variable &find_or_create(const Block &block);
  void check_complete() const;

  Target target_;
  Transfer transfer_ = Transfer::independent;
  std::int64_t chunk_bytes_ = std::int64_t{1} << 30;
  vtkhdf::Contents contents_; ///< on all ranks; but when writing, only rank 0 has the variables of new steps
  bool attributes_unsaved_ = false;
  h5::Handle file_;                             ///< on rank 0 within a step
  std::optional<Journal> journal_;              ///< on rank 0 within a step
  std::map<std::int64_t, std::int64_t> chunks_; ///< offset -> bytes of all grid data; on rank 0 when writing
  std::vector<std::string> written_;            ///< in the open step
  StepInfo step_;
  std::optional<SharedFile> shared_;
};

Hdf5Engine::Hdf5Engine(const Target &target, Parameters &parameters) : target_(target) {
  const h5::Quiet quiet;
  target.comm.agree([&] {
    transfer_ = transfer_named(parameters.text("transfer", "independent", {"independent", "collective"}));
    chunk_bytes_ = parameters.number("chunk_bytes", chunk_bytes_, 1);
    parameters.finish("hdf5");
    if (!root())
      return;
    check_target(target.path, target.mode, Kind::file);
    const bool there = std::filesystem::exists(target.path);
    if (there && target.mode != Mode::write)
      Journal::recover(target.path, patience);
    if (target.mode == Mode::write || (target.mode == Mode::append && !there))
      create();
    load();
    if (target.rewind_to)
      rewind(*target.rewind_to);
  });
  target.comm.agree([&] { // when rank 0 is done with the file
    if (!root())
      load();
  });
}

void Hdf5Engine::create() {
  ::unlink((target_.path + ".journal").c_str());
  if (const std::string said = apply_striping(target_.striping, target_.path, Kind::file); !said.empty())
    target_.notes->push_back(said);
  h5::Handle file = h5::create_file(target_.path);
  try {
    vtkhdf::create(file, target_.grid);
    h5::check(H5Fflush(file, H5F_SCOPE_GLOBAL), "write " + target_.path);
  } catch (...) {
    h5::discard(file);
    throw;
  }
}

void Hdf5Engine::load() { contents_ = vtkhdf::read_contents(h5::open_file(target_.path, false), target_.path); }

void Hdf5Engine::rewind(std::int64_t last_index) {
  auto &steps = contents_.steps;
  const auto kept =
      std::count_if(steps.begin(), steps.end(), [&](const StepInfo &step) { return step.index <= last_index; });
  if (kept == static_cast<std::ptrdiff_t>(steps.size()))
    return;
  begin_change();
  try {
    vtkhdf::cut_steps(file_, kept);
    commit_change();
  } catch (...) {
    abandon_step();
    throw;
  }
  steps.resize(static_cast<std::size_t>(kept));
}

/// Rank 0: opens the file with a journal beside it.
void Hdf5Engine::begin_change() {
  if (chunks_.empty() && !contents_.variables.empty()) // appending: learn which bytes are data
    chunks_ = vtkhdf::all_chunks(h5::open_file(target_.path, false), contents_);
  journal_.emplace(target_.path, chunks_, target_.sync);
  file_ = h5::open_file(target_.path, true);
}

/// Rank 0: writes the metadata out and lets the journal go.
void Hdf5Engine::commit_change() {
  // Flushed before it is closed: when this fails, the file is still ours to discard.
  h5::check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "write " + target_.path);
  h5::check(file_.close(), "close " + target_.path);
  if (target_.sync)
    sync_path(target_.path);
  journal_->commit();
  journal_.reset();
}

void Hdf5Engine::begin_step(const StepInfo &step) {
  const h5::Quiet quiet;
  step_ = step;
  written_.clear();
  target_.comm.agree([&] {
    if (root())
      begin_change();
  });
}

const vtkhdf::Variable &Hdf5Engine::find_or_create(const Block &block) {
  if (block.list)
    throw InputError(fmt::format("{}: hdf5 series hold no lists yet", target_.path));
  const Index3 &n = block.place.shape;
  const auto found = contents_.variables.find(block.name);
  if (found != contents_.variables.end()) {
    const VariableInfo &info = found->second.info;
    if (info.shape != n || info.type != block.type)
      throw InputError(fmt::format("{} holds '{}' as {} of {} x {} x {}; it cannot also be {} of {} x {} x {}",
                                   target_.path, block.name, name_of(info.type), info.shape[0], info.shape[1],
                                   info.shape[2], name_of(block.type), n[0], n[1], n[2]));
    return found->second;
  }
  if (row() > 0)
    throw InputError(
        fmt::format("{}: the steps of an hdf5 series all hold the same variables, and '{}' was not in the first",
                    target_.path, block.name));
  if (!contents_.grid) { // nobody told: the points are those of the first variable
    contents_.grid = GridDescription{n, {0, 0, 0}, {1, 1, 1}};
    vtkhdf::write_grid(file_, *contents_.grid);
  }
  return contents_.variables[block.name] =
             vtkhdf::create_variable(file_, {block.name, block.type, n}, *contents_.grid, chunk_bytes_);
}

void Hdf5Engine::write(const Block &block) {
  const h5::Quiet quiet;
  std::vector<vtkhdf::Chunk> chunks;
  target_.comm.agree([&] {
    if (!root())
      return;
    chunks = vtkhdf::make_room(file_, find_or_create(block), row());
    for (const auto &chunk : chunks)
      chunks_[chunk.offset] = chunk.bytes;
  });
  std::int64_t count = static_cast<std::int64_t>(chunks.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_INT64_T, 0, target_.comm.get()), "MPI_Bcast");
  chunks.resize(static_cast<std::size_t>(count));
  static_assert(sizeof(vtkhdf::Chunk) == 4 * sizeof(std::int64_t));
  check_mpi(MPI_Bcast(chunks.data(), static_cast<int>(4 * count), MPI_INT64_T, 0, target_.comm.get()), "MPI_Bcast");
  if (!shared_)
    shared_.emplace(target_.comm, target_.path, false, transfer_);
  const Index3 &n = block.place.shape;
  const Span span(*target_.trace, Phase::write,
                  block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
  for (const auto &chunk : chunks) {
    // The part of the block in this chunk, in indices that begin with the chunk.
    Placement part{{n[0], n[1], chunk.planes}, block.place.block, block.place.memory};
    part.block.start[2] -= chunk.begin;
    part.memory.start[2] -= chunk.begin;
    part.block = part.block.intersect({{0, 0, 0}, part.shape});
    Block piece{block.name, block.type, part, block.data, block.list, block.checksum};
    shared_->write(chunk.offset, piece);
  }
  written_.push_back(block.name);
}

void Hdf5Engine::check_complete() const {
  for (const auto &[name, variable] : contents_.variables)
    if (std::find(written_.begin(), written_.end(), name) == written_.end())
      throw InputError(fmt::format("{}: the steps of an hdf5 series all hold the same variables, and '{}' is missing",
                                   target_.path, name));
}

void Hdf5Engine::end_step(const StepTail &tail) {
  const h5::Quiet quiet;
  if (target_.sync && shared_) {
    const Span span(*target_.trace, Phase::sync);
    shared_->sync();
  }
  target_.comm.agree([&] {
    if (!root())
      return;
    check_complete();
    if (attributes_unsaved_)
      vtkhdf::write_attributes(file_, contents_.attributes);
    vtkhdf::append_step(file_, row(), step_, tail.scalars, tail.checksums);
    commit_change();
  });
  contents_.steps.push_back(step_);
  attributes_unsaved_ = false;
}

void Hdf5Engine::abandon_step() noexcept {
  if (!journal_)
    return;
  h5::discard(file_);
  try {
    journal_->roll_back();
  } catch (const IoError &) { // the journal stays, and whoever opens the file next rolls back
  }
  journal_.reset();
  // What the step brought is gone from the file, so it goes from memory; the rest is learned again at the next change.
  if (contents_.steps.empty()) {
    contents_.variables.clear();
    contents_.grid = target_.grid;
  }
  chunks_.clear();
}

void Hdf5Engine::set_attributes(const Attributes &attributes) {
  contents_.attributes = attributes;
  attributes_unsaved_ = true;
}

void Hdf5Engine::close() {
  const h5::Quiet quiet;
  target_.comm.agree([&] {
    if (!root() || !attributes_unsaved_)
      return;
    try {
      begin_change();
      vtkhdf::write_attributes(file_, contents_.attributes);
      commit_change();
    } catch (...) {
      abandon_step();
      throw;
    }
  });
  attributes_unsaved_ = false;
  shared_.reset();
}

// ---- reading: every rank for itself, serially ----

std::vector<VariableInfo> Hdf5Engine::variables(std::size_t) const {
  std::vector<VariableInfo> result;
  for (const auto &[name, variable] : contents_.variables)
    result.push_back(variable.info);
  return result;
}

Scalars Hdf5Engine::scalars(std::size_t step) const {
  const h5::Quiet quiet;
  return vtkhdf::scalars(h5::open_file(target_.path, false), static_cast<std::int64_t>(step));
}

std::string Hdf5Engine::checksums(std::size_t step) const {
  const h5::Quiet quiet;
  return vtkhdf::checksums(h5::open_file(target_.path, false), static_cast<std::int64_t>(step));
}

void Hdf5Engine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const h5::Quiet quiet;
  const Span span(*target_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const std::string &path = contents_.variables.at(variable.name).path;
  const h5::Handle file = h5::open_file(target_.path, false), stored = h5::dataset(file, path);
  const auto u = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  const hsize_t start[4] = {step, u(box.start[2]), u(box.start[1]), u(box.start[0])};
  const hsize_t count[4] = {1, u(box.count[2]), u(box.count[1]), u(box.count[0])};
  const h5::Handle space(H5Dget_space(stored), H5Sclose), memory(H5Screate_simple(4, count, nullptr), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
  h5::check(H5Dread(stored, h5::type(variable.type), memory, space, H5P_DEFAULT, data),
            fmt::format("read {} of {}", path, target_.path));
}

} // namespace

std::unique_ptr<Engine> open_hdf5(const Target &target, Parameters parameters) {
  return std::make_unique<Hdf5Engine>(target, parameters);
}

} // namespace tailrace::io
