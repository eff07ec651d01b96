// One VTKHDF file (ImageData with steps): ParaView, VTK, pyvista and h5py open it as it is.
//
//   /VTKHDF                     attributes Version, Type, WholeExtent, Origin, Spacing, Direction
//   /VTKHDF/PointData/<name>    [step, z, y, x]; variables with one value less per direction are in CellData
//   /VTKHDF/Steps               attribute NSteps; dataset Values, the times
//   /Fields/<name>              [step, z, y, x]; variables of any other shape
//   /Tailrace                   index, scalars/<name>, checksums by step; attributes of the series
//
// Data and metadata go different ways. Rank 0 alone has the file open in HDF5, serially, and only while a step is written;
// it makes room for a variable and tells the others at which byte its chunk lies; all ranks then write their own rows
// there. So there is one writer of metadata, no collective metadata call, and nothing that waits for a rank that ran into a
// full disk, which parallel HDF5 does. Any HDF5 serves, parallel or not.
//
// Crash safety. HDF5 changes its metadata in place, and a program killed while it does so leaves a file that may not open
// again. So a journal of the old metadata lies beside the file while a step is written (see journal.hpp): a cut step is
// rolled back by the next program that opens the series. Data are only ever written where no complete step has its own. Before the
// very last moment of a step the file is also valid without the roll-back: NSteps does not count the open step.

#include <tailrace/io/engine.hpp>
#include <tailrace/io/files.hpp>
#include <tailrace/io/hdf5_file.hpp>
#include <tailrace/io/journal.hpp>
#include <tailrace/io/shared_file.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tailrace::io {

namespace {

constexpr std::int64_t version = 1;
constexpr std::int64_t largest_chunk = std::int64_t{1} << 30; // HDF5's limit is 4 GiB
constexpr double patience = 10;                              // seconds to wait for the writer of a step
const std::string values_path = "/VTKHDF/Steps/Values", index_path = "/Tailrace/index", checksums_path = "/Tailrace/checksums",
                  scalars_path = "/Tailrace/scalars", attributes_path = "/Tailrace/attributes";

/// One chunk of a variable in one step: all of x and y, and a range of z.
struct Chunk {
  std::int64_t offset = 0; ///< byte in the file
  std::int64_t begin = 0;  ///< first plane
  std::int64_t planes = 0;
};

/// A variable as the writing rank 0 knows it.
struct Stored {
  VariableInfo info;
  std::string path;
};

class Hdf5Engine final : public Engine {
public:
  Hdf5Engine(const Target &target, Parameters &parameters);
  ~Hdf5Engine() override { abandon_step(); }

  std::vector<StepInfo> steps() const override { return steps_; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::optional<GridDescription> grid() const override { return grid_; }
  Attributes attributes() const override { return attributes_; }
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  bool root() const { return target_.comm.rank() == 0; }
  void create();
  void load();
  void rewind(std::int64_t last_index);
  void begin_change();
  void commit_change();
  void write_grid(const Index3 &points);
  std::string path_for(const VariableInfo &info) const;
  Stored &find_or_create(const Block &block);
  std::vector<Chunk> make_room(const Block &block);
  void write_tail(const StepTail &tail);
  void write_attributes();

  Target target_;
  Transfer transfer_ = Transfer::independent;
  std::vector<StepInfo> steps_;
  std::optional<GridDescription> grid_;
  Attributes attributes_;
  bool attributes_unsaved_ = false;
  std::map<std::string, Stored> stored_; ///< when writing, only on rank 0
  h5::Handle file_;                      ///< when writing, only on rank 0 and within a step
  std::optional<Journal> journal_;       ///< like file_
  std::map<std::int64_t, std::int64_t> chunks_; ///< offset -> bytes of all grid data; rank 0
  std::vector<std::string> written_;            ///< in the open step
  StepInfo step_;
  std::optional<SharedFile> shared_;
};

Hdf5Engine::Hdf5Engine(const Target &target, Parameters &parameters) : target_(target) {
  const h5::Quiet quiet;
  target.comm.agree([&] {
    transfer_ = transfer_named(parameters.text("transfer", "independent", {"independent", "collective"}));
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
  h5::Handle file = h5::create_file(target_.path);
  const h5::Handle vtk = h5::group(file, "/VTKHDF"), steps = h5::group(file, "/VTKHDF/Steps"), own = h5::group(file, "/Tailrace");
  h5::group(file, "/VTKHDF/PointData");
  h5::set_attribute(vtk, "Version", std::vector<std::int64_t>{2, 2});
  h5::set_attribute(vtk, "Type", "ImageData");
  h5::set_attribute(vtk, "Direction", std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1});
  h5::set_attribute(steps, "NSteps", std::int64_t{0});
  h5::set_attribute(own, "version", version);
  h5::group(file, attributes_path);
  if (target_.grid) {
    std::swap(file_, file);
    write_grid(target_.grid->points);
    std::swap(file_, file);
  }
  h5::check(H5Fflush(file, H5F_SCOPE_GLOBAL), "write " + target_.path);
}

/// Reads what the file says of itself; when writing, rank 0 also learns where its data lie.
void Hdf5Engine::load() {
  const h5::Handle file = h5::open_file(target_.path, false);
  if (!h5::exists(file, "/VTKHDF/Steps"))
    throw IoError(fmt::format("cannot read {}: it is no VTKHDF file with steps", target_.path));
  const std::int64_t count = h5::numbers<std::int64_t>(h5::group(file, "/VTKHDF/Steps"), "NSteps").at(0);
  const auto times = h5::doubles(file, values_path, count);
  const auto indices = h5::integers(file, index_path, count);
  for (std::size_t step = 0; step < times.size(); ++step) // a file of another program has times, but no indices
    steps_.push_back({indices.empty() ? static_cast<std::int64_t>(step) : indices[step], times[step]});
  if (h5::exists(file, attributes_path))
    attributes_ = h5::attributes(h5::group(file, attributes_path));
  const h5::Handle vtk = h5::group(file, "/VTKHDF");
  if (H5Aexists(vtk, "WholeExtent") > 0) {
    grid_.emplace();
    const auto whole = h5::numbers<std::int64_t>(vtk, "WholeExtent");
    const auto origin = h5::numbers<double>(vtk, "Origin"), spacing = h5::numbers<double>(vtk, "Spacing");
    for (std::size_t d = 0; d < 3; ++d) {
      grid_->points[d] = whole.at(2 * d + 1) - whole.at(2 * d) + 1;
      grid_->origin[d] = origin.at(d);
      grid_->spacing[d] = spacing.at(d);
    }
  }
  for (const std::string group : {"/VTKHDF/PointData", "/VTKHDF/CellData", "/Fields"})
    for (const auto &name : h5::datasets(file, group)) {
      const h5::Handle data = h5::dataset(file, group + "/" + name);
      const auto size = h5::extent(data);
      if (size.size() != 4 || size[0] < static_cast<hsize_t>(count))
        continue; // vectors and the like, of another program
      const auto n = [&](std::size_t d) { return static_cast<std::int64_t>(size[d]); };
      stored_[name] = {{name, h5::type_of(data), {n(3), n(2), n(1)}}, group + "/" + name};
    }
}

void Hdf5Engine::write_grid(const Index3 &points) {
  GridDescription grid = target_.grid.value_or(GridDescription{});
  grid.points = points;
  const h5::Handle vtk = h5::group(file_, "/VTKHDF");
  h5::set_attribute(vtk, "WholeExtent", std::vector<std::int64_t>{0, points[0] - 1, 0, points[1] - 1, 0, points[2] - 1});
  h5::set_attribute(vtk, "Origin", std::vector<double>(grid.origin.begin(), grid.origin.end()));
  h5::set_attribute(vtk, "Spacing", std::vector<double>(grid.spacing.begin(), grid.spacing.end()));
  grid_ = grid;
}

/// Drops steps. Their data stay where they are, uncounted, until the next steps take their place: nothing is freed, so
/// that the journal can undo this as it can undo a step.
void Hdf5Engine::rewind(std::int64_t last_index) {
  const auto kept = std::count_if(steps_.begin(), steps_.end(), [&](const StepInfo &s) { return s.index <= last_index; });
  if (kept == static_cast<std::ptrdiff_t>(steps_.size()))
    return;
  begin_change();
  try {
    h5::set_attribute(h5::group(file_, "/VTKHDF/Steps"), "NSteps", static_cast<std::int64_t>(kept));
    std::vector<std::string> lists{values_path, index_path, checksums_path};
    for (const auto &name : h5::datasets(file_, scalars_path))
      lists.push_back(scalars_path + "/" + name);
    for (const auto &list : lists)
      if (h5::exists(file_, list))
        h5::cut_rows(file_, list, kept);
    commit_change();
  } catch (...) {
    abandon_step();
    throw;
  }
  steps_.resize(static_cast<std::size_t>(kept));
}

/// Opens the file on rank 0 with a journal beside it.
void Hdf5Engine::begin_change() {
  if (chunks_.empty() && !stored_.empty()) { // appending: learn which bytes are data of complete steps
    const h5::Handle file = h5::open_file(target_.path, false);
    for (const auto &[name, stored] : stored_) {
      const h5::Handle data = h5::dataset(file, stored.path);
      hsize_t count = 0;
      const h5::Handle space(H5Dget_space(data), H5Sclose);
      h5::check(H5Dget_num_chunks(data, space, &count), "list the chunks of " + stored.path);
      for (hsize_t chunk = 0; chunk < count; ++chunk) {
        haddr_t offset = 0;
        hsize_t bytes = 0;
        h5::check(H5Dget_chunk_info(data, space, chunk, nullptr, nullptr, &offset, &bytes), "find a chunk of " + stored.path);
        chunks_[static_cast<std::int64_t>(offset)] = static_cast<std::int64_t>(bytes);
      }
    }
  }
  journal_.emplace(target_.path, chunks_, target_.sync);
  file_ = h5::open_file(target_.path, true);
}

void Hdf5Engine::commit_change() {
  // Flushed before it is closed: when this fails the file is still ours to discard.
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

std::string Hdf5Engine::path_for(const VariableInfo &info) const {
  const Index3 cells{grid_->points[0] - 1, grid_->points[1] - 1, grid_->points[2] - 1};
  const char *group = info.shape == grid_->points ? "/VTKHDF/PointData/" : info.shape == cells ? "/VTKHDF/CellData/" : "/Fields/";
  return group + info.name;
}

Stored &Hdf5Engine::find_or_create(const Block &block) {
  const Index3 &n = block.place.shape;
  const auto found = stored_.find(block.name);
  if (found != stored_.end()) {
    const VariableInfo &info = found->second.info;
    if (info.shape != n || info.type != block.type)
      throw InputError(fmt::format("{} holds '{}' as {} of {} x {} x {}; it cannot also be {} of {} x {} x {}", target_.path,
                                   block.name, name_of(info.type), info.shape[0], info.shape[1], info.shape[2],
                                   name_of(block.type), n[0], n[1], n[2]));
    return found->second;
  }
  if (!steps_.empty())
    throw InputError(fmt::format("{}: the steps of an hdf5 series all hold the same variables, and '{}' was not in the first",
                                 target_.path, block.name));
  if (!grid_)
    write_grid(n);
  Stored stored{{block.name, block.type, n}, {}};
  stored.path = path_for(stored.info);
  const std::int64_t plane = n[0] * n[1] * static_cast<std::int64_t>(size_of(block.type));
  if (plane > largest_chunk)
    throw InputError(fmt::format("{}: one plane of '{}' has {} bytes, more than HDF5 takes in a chunk", target_.path, block.name, plane));
  const std::int64_t pieces = (n[2] * plane + largest_chunk - 1) / largest_chunk, planes = (n[2] + pieces - 1) / pieces;
  const auto u = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  const hsize_t none[4] = {0, u(n[2]), u(n[1]), u(n[0])}, any[4] = {H5S_UNLIMITED, u(n[2]), u(n[1]), u(n[0])};
  const hsize_t chunk[4] = {1, u(planes), u(n[1]), u(n[0])};
  const h5::Handle space(H5Screate_simple(4, none, any), H5Sclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(creation, 4, chunk);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY); // room, and an address, as soon as the dataset grows
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);   // the ranks fill it
  h5::group(file_, stored.path.substr(0, stored.path.rfind('/')));
  const h5::Handle data(h5::check(H5Dcreate2(file_, stored.path.c_str(), h5::type(block.type), space, H5P_DEFAULT, creation,
                                             H5P_DEFAULT),
                                  "create dataset " + stored.path),
                        H5Dclose);
  return stored_[block.name] = stored;
}

/// Rank 0: grows the variable's dataset by this step, and says where its chunks are.
std::vector<Chunk> Hdf5Engine::make_room(const Block &block) {
  const Stored &stored = find_or_create(block);
  const h5::Handle data = h5::dataset(file_, stored.path);
  auto size = h5::extent(data);
  const hsize_t row = steps_.size();
  if (size[0] <= row) { // else a dropped step has left its place
    size[0] = row + 1;
    h5::check(H5Dset_extent(data, size.data()), "extend dataset " + stored.path);
  }
  const h5::Handle creation(H5Dget_create_plist(data), H5Pclose);
  hsize_t chunk[4];
  if (H5Pget_chunk(creation, 4, chunk) != 4 || chunk[0] != 1 || chunk[2] != size[2] || chunk[3] != size[3] ||
      H5Pget_nfilters(creation) != 0)
    throw IoError(fmt::format("cannot append to {}: another program laid out dataset {}", target_.path, stored.path));
  std::vector<Chunk> chunks;
  for (hsize_t z = 0; z < size[1]; z += chunk[1]) {
    const hsize_t at[4] = {row, z, 0, 0};
    haddr_t offset = HADDR_UNDEF;
    hsize_t bytes = 0;
    h5::check(H5Dget_chunk_info_by_coord(data, at, nullptr, &offset, &bytes), "find a chunk of " + stored.path);
    if (offset == HADDR_UNDEF)
      throw IoError(fmt::format("cannot write {}: HDF5 made no room for {}", target_.path, stored.path));
    chunks.push_back({static_cast<std::int64_t>(offset), static_cast<std::int64_t>(z),
                      static_cast<std::int64_t>(std::min(chunk[1], size[1] - z))});
    chunks_[chunks.back().offset] = static_cast<std::int64_t>(bytes);
  }
  return chunks;
}

void Hdf5Engine::write(const Block &block) {
  const h5::Quiet quiet;
  std::vector<Chunk> chunks;
  target_.comm.agree([&] {
    if (root())
      chunks = make_room(block);
  });
  std::int64_t count = static_cast<std::int64_t>(chunks.size());
  check_mpi(MPI_Bcast(&count, 1, MPI_INT64_T, 0, target_.comm.get()), "MPI_Bcast");
  chunks.resize(static_cast<std::size_t>(count));
  check_mpi(MPI_Bcast(chunks.data(), static_cast<int>(3 * count), MPI_INT64_T, 0, target_.comm.get()), "MPI_Bcast");
  if (!shared_)
    shared_.emplace(target_.comm, target_.path, false, transfer_);
  const Index3 &n = block.place.shape;
  for (const auto &chunk : chunks) {
    Placement part{{n[0], n[1], chunk.planes}, {}, block.place.memory};
    part.block = block.place.block.intersect({{0, 0, chunk.begin}, {n[0], n[1], chunk.planes}});
    // Where the rows begin in memory does not depend on the chunk: shift both boxes alike.
    part.block.start[2] -= chunk.begin;
    part.memory.start[2] -= chunk.begin;
    shared_->write(chunk.offset, part, size_of(block.type), block.data);
  }
  written_.push_back(block.name);
}

void Hdf5Engine::write_attributes() {
  if (!attributes_unsaved_)
    return;
  const h5::Handle group = h5::group(file_, attributes_path);
  for (const auto &[name, value] : attributes_)
    h5::set_attribute(group, name, value);
}

void Hdf5Engine::write_tail(const StepTail &tail) {
  for (const auto &[name, stored] : stored_)
    if (std::find(written_.begin(), written_.end(), name) == written_.end())
      throw InputError(fmt::format("{}: the steps of an hdf5 series all hold the same variables, and '{}' is missing", target_.path, name));
  const std::int64_t row = static_cast<std::int64_t>(steps_.size());
  for (const auto &[name, value] : tail.scalars)
    h5::put_row(file_, scalars_path + "/" + name, row, value);
  for (const auto &name : h5::datasets(file_, scalars_path))
    if (!tail.scalars.count(name))
      h5::put_row(file_, scalars_path + "/" + name, row, std::numeric_limits<double>::quiet_NaN());
  if (!tail.checksums.empty())
    h5::put_row(file_, checksums_path, row, tail.checksums);
  write_attributes();
  h5::put_row(file_, values_path, row, step_.time);
  h5::put_row(file_, index_path, row, step_.index);
  h5::set_attribute(h5::group(file_, "/VTKHDF/Steps"), "NSteps", row + 1);
}

void Hdf5Engine::end_step(const StepTail &tail) {
  const h5::Quiet quiet;
  if (target_.sync && shared_) {
    const double start = MPI_Wtime();
    shared_->sync();
    target_.counters->sync_seconds += MPI_Wtime() - start;
  }
  target_.comm.agree([&] {
    if (!root())
      return;
    write_tail(tail);
    commit_change();
  });
  steps_.push_back(step_);
  attributes_unsaved_ = false;
}

void Hdf5Engine::abandon_step() noexcept {
  h5::discard(file_);
  if (journal_) {
    try {
      journal_->roll_back();
    } catch (const IoError &) { // the journal stays, and whoever opens the file next rolls back
    }
    journal_.reset();
  }
  // What the step brought is gone from the file, so it goes from memory; it is learned again when the next step begins.
  if (steps_.empty())
    stored_.clear(), grid_ = target_.grid;
  chunks_.clear();
}

void Hdf5Engine::set_attributes(const Attributes &attributes) {
  attributes_ = attributes;
  attributes_unsaved_ = true;
}

void Hdf5Engine::close() {
  const h5::Quiet quiet;
  target_.comm.agree([&] {
    if (!root() || !attributes_unsaved_)
      return;
    try {
      begin_change();
      write_attributes();
      commit_change();
    } catch (...) {
      abandon_step();
      throw;
    }
  });
  attributes_unsaved_ = false;
  shared_.reset();
}

// ---- reading: every rank for itself, serially -------------------------------------------------------------------------------

std::vector<VariableInfo> Hdf5Engine::variables(std::size_t) const {
  std::vector<VariableInfo> result;
  for (const auto &[name, stored] : stored_)
    result.push_back(stored.info);
  return result;
}

Scalars Hdf5Engine::scalars(std::size_t step) const {
  const h5::Quiet quiet;
  const h5::Handle file = h5::open_file(target_.path, false);
  Scalars result;
  for (const auto &name : h5::datasets(file, scalars_path))
    result[name] = h5::doubles(file, scalars_path + "/" + name, static_cast<std::int64_t>(step) + 1).back();
  return result;
}

std::string Hdf5Engine::checksums(std::size_t step) const {
  const h5::Quiet quiet;
  return h5::string_row(h5::open_file(target_.path, false), checksums_path, static_cast<std::int64_t>(step));
}

void Hdf5Engine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const h5::Quiet quiet;
  const h5::Handle file = h5::open_file(target_.path, false);
  const std::string &path = stored_.at(variable.name).path;
  const h5::Handle stored = h5::dataset(file, path);
  const auto u = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  const hsize_t start[4] = {step, u(box.start[2]), u(box.start[1]), u(box.start[0])};
  const hsize_t count[4] = {1, u(box.count[2]), u(box.count[1]), u(box.count[0])};
  const h5::Handle space(H5Dget_space(stored), H5Sclose), memory(H5Screate_simple(4, count, nullptr), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
  h5::check(H5Dread(stored, variable.type == Type::float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data),
            fmt::format("read {} of {}", path, target_.path));
}

} // namespace

std::unique_ptr<Engine> open_hdf5(const Target &target, Parameters parameters) {
  return std::make_unique<Hdf5Engine>(target, parameters);
}

} // namespace tailrace::io
