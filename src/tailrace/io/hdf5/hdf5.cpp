// One VTKHDF file (ImageData with steps), which ParaView, VTK, pyvista and h5py can open. vtkhdf.hpp describes its
// layout.
//
// Data and metadata are written in different ways. Only rank 0 has the file open in HDF5, serially. It makes space for
// a variable and tells the other ranks at which byte its chunks lie; then all ranks write their own rows there. So
// there is one writer of metadata and no collective metadata call, and no rank waits for one that ran into a full disk,
// as in parallel HDF5. HDF5 may be built parallel or not.
//
// Crash safety. HDF5 changes its metadata in place, and a program that is killed meanwhile leaves a file that may not
// open again. So a driver of ours keeps in memory what HDF5 writes during a step (see journaled_driver.hpp). At the end
// of the step the few old bytes that will change go to a journal beside the file (see journal.hpp), and only then the
// new bytes go to the file: the next program that appends rolls back an incomplete step, and readers read around it.
// Data are never written over those of a complete step. Until the end of a step the file can be read as it was; our
// readers also wait for the end.
//
// Chunks with filters have no place in the file before their size is known. The ranks compress them, and rank 0 stores
// the result, see filtered_chunks.hpp.

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/hdf5/filters/filtered_chunks.hpp>
#include <tailrace/io/hdf5/hdf5_options.hpp>
#include <tailrace/io/hdf5/journal/journal.hpp>
#include <tailrace/io/hdf5/journal/journaled_driver.hpp>
#include <tailrace/io/hdf5/journal/journaled_file.hpp>
#include <tailrace/io/hdf5/step_reader.hpp>
#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>
#include <tailrace/io/hdf5/vtkhdf/xdmf_companion.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/shared_file.hpp>
#include <tailrace/support/guarded_call.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tailrace::io {

namespace {

constexpr double patience_of_writer = 10; // seconds to wait for a writer that is ending a step

// What rank 0 sends to the other ranks before a variable is written: a letter, and the text that the letter stands for.
constexpr char placed = 'c'; ///< the chunks that were allocated
constexpr char packed = 'p'; ///< how the dataset was created whose chunks have no place before they are compressed

std::vector<vtkhdf::Chunk> chunks_of(std::string_view bytes) {
  std::vector<vtkhdf::Chunk> chunks(bytes.size() / sizeof(vtkhdf::Chunk));
  if (!chunks.empty()) // memcpy takes no null pointer
    std::memcpy(static_cast<void *>(chunks.data()), bytes.data(), bytes.size());
  return chunks;
}

std::string names_of(const vtkhdf::Closing &closing) {
  std::string names;
  for (std::size_t d = 0; d < 3; ++d)
    if (closing[d])
      names += "xyz"[d];
  return names.empty() ? "no direction" : names;
}

bool has_equal_spacing(const std::optional<GridDescription> &grid) { return grid && !grid->stretched(); }

class Hdf5Engine final : public StepSink, public StepSource {
public:
  Hdf5Engine(const OpenRequest &request, Parameters &parameters);
  ~Hdf5Engine() override { abandon_step(); }

  std::vector<StepInfo> steps() const override { return contents_.steps; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::vector<std::string> damage() const override { return reader_.damage(contents_); }
  std::vector<std::string> files() const override;
  std::optional<GridDescription> grid() const override { return contents_.grid; }
  Attributes attributes() const override { return contents_.attributes; }
  std::vector<VariableInfo> variables(std::size_t number) const override {
    return reader_.step(contents_, number).variables;
  }
  Scalars scalars(std::size_t number) const override { return reader_.step(contents_, number).scalars; }
  std::string checksums(std::size_t number) const override { return reader_.checksums(contents_, number); }
  bool has_table(std::size_t number) const override { return !reader_.step(contents_, number).in_table.empty(); }
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  bool root() const { return request_.comm.rank() == 0; }
  std::int64_t row() const { return static_cast<std::int64_t>(contents_.steps.size()); }
  void create();
  void load();
  void require_sound() const;
  void rewind(std::int64_t last_index);
  template <class Change> void change(Change work);
  const vtkhdf::Variable &find_or_create(const Block &block);
  std::string make_room(const Block &block);
  void write_chunks(const Block &block, const std::vector<vtkhdf::Chunk> &chunks);
  void write_packed(const Block &block, const std::string &creation);
  void draw_earlier(hid_t file);

  OpenRequest request_;
  Hdf5Options options_;
  vtkhdf::Contents contents_; ///< on all ranks; when writing, only rank 0 has the variables of new steps
  bool attributes_unsaved_ = false;
  std::optional<JournaledFile> file_;  ///< on rank 0 when writing
  vtkhdf::Step step_;                  ///< the open one
  std::vector<std::string> created_;   ///< grid variables that this step added
  std::optional<Hdf5Drawing> drawing_; ///< on rank 0 when writing
  std::optional<SharedFile> shared_;
  StepReader reader_;
};

Hdf5Engine::Hdf5Engine(const OpenRequest &request, Parameters &parameters) : request_(request), reader_(request.path) {
  const h5::Quiet quiet;
  request.comm.agree([&] {
    options_ = hdf5_options(parameters);
    if (!root())
      return;
    check_target(request.path, request.mode, Kind::file);
    if (request.mode != Mode::read)
      drawing_.emplace(request.path);
    const bool there = std::filesystem::exists(request.path), begins = request.mode == Mode::write || !there;
    if (request.mode != Mode::read && begins && options_.closing != vtkhdf::Closing{} &&
        !has_equal_spacing(request.grid))
      throw InputError(
          "parameter closing: it needs a grid with equal spacing. To fix this, give the series its grid, or "
          "leave closing out");
    if (there && request.mode == Mode::append)
      Journal::recover(request.path, patience_of_writer);
    if (request.mode == Mode::write || (request.mode == Mode::append && !there))
      create();
    if (request.mode != Mode::read)
      file_.emplace(request.path, options_.alignment, request.sync);
    load();
    if (request.mode == Mode::append)
      require_sound();
    if (request.mode == Mode::append && options_.closing_given && options_.closing != contents_.closing)
      throw InputError(
          fmt::format("parameter closing: {} was begun with closing planes in {} and goes on with them. To "
                      "fix this, give the same, or none",
                      request.path, names_of(contents_.closing)));
    if (request.rewind_to)
      rewind(*request.rewind_to);
    if (request.mode == Mode::append && vtkhdf::has_leftovers(h5::read_file(request.path, nullptr), row()))
      change([&] { vtkhdf::remove_leftovers(*file_, contents_); });
  });
  request.comm.agree([&] { // after rank 0 has finished with the file
    if (!root())
      load();
  });
}

std::vector<std::string> Hdf5Engine::files() const {
  std::vector<std::string> result{request_.path};
  if (Hdf5Drawing::is_at(request_.path))
    result.push_back(Hdf5Drawing::path_for(request_.path));
  return result;
}

void Hdf5Engine::create() {
  if (request_.replaced && std::filesystem::exists(request_.path)) {
    const FileDescriptor readers = Journal::hold_off_readers(request_.path);
    std::vector<std::string> beside{"journal"};
    if (Hdf5Drawing::is_at(request_.path))
      beside.push_back(Hdf5Drawing::ending + 1);
    request_.replaced->set_aside(beside);
  }
  Journal::discard(request_.path);
  if (const std::string said = apply_striping(request_.striping, request_.path, Kind::file); !said.empty())
    request_.notes->push_back(said);
  const FileDescriptor readers = Journal::hold_off_readers(request_.path);
  h5::Handle file = h5::create_file(request_.path);
  try {
    vtkhdf::create(file, request_.grid, options_.closing);
    h5::changes(file, request_.path);
    h5::apply(file);
  } catch (...) {
    h5::discard(file);
    throw;
  }
}

void Hdf5Engine::load() { contents_ = reader_.contents(); }

/// Throws if the file is damaged: HDF5 may crash, or overwrite other data, when it adds to it.
void Hdf5Engine::require_sound() const {
  if (const auto found = damage(); !found.empty())
    throw IoError(fmt::format("cannot append to {}: it is damaged ({}). To fix this, restore it from a copy, or copy "
                              "the steps that can be read to a new series",
                              request_.path, found.front()));
}

/// Rank 0: removes later steps. Their data are removed by a second change, after which no rollback can need them.
void Hdf5Engine::rewind(std::int64_t last_index) {
  auto &steps = contents_.steps;
  const auto kept =
      std::count_if(steps.begin(), steps.end(), [&](const StepInfo &step) { return step.index <= last_index; });
  if (kept == static_cast<std::ptrdiff_t>(steps.size()))
    return;
  drawing_->clear(); // first: it must not show steps that are not there, whatever fails from here on
  change([&] { vtkhdf::cut_steps(*file_, kept); });
  steps.resize(static_cast<std::size_t>(kept));
  if (contents_.grid)
    draw_earlier(h5::read_file(request_.path, nullptr));
}

/// Rank 0: makes a change outside a step.
template <class Change> void Hdf5Engine::change(Change work) {
  try {
    const h5::Failures failures; // of calls whose result nobody looks at
    file_->begin();
    work();
    failures.check("write " + request_.path);
    file_->commit(vtkhdf::marks(*file_, row()));
  } catch (...) {
    abandon_step();
    throw;
  }
  file_->forget_free_space();
}

void Hdf5Engine::begin_step(const StepInfo &step) {
  const h5::Quiet quiet;
  step_ = {};
  step_.info = step;
  created_.clear();
  request_.comm.from_root([&] {
    file_->begin();
    return std::string();
  });
}

const vtkhdf::Variable &Hdf5Engine::find_or_create(const Block &block) {
  if (vtkhdf::is_list(*file_, block.name))
    throw InputError(
        fmt::format("{} holds '{}' as a list; it cannot also be a grid variable", request_.path, block.name));
  const Index3 &n = block.place.shape;
  const auto found = contents_.variables.find(block.name);
  if (found != contents_.variables.end()) {
    const VariableInfo &info = found->second.info;
    if (info.shape != n || info.type != block.type)
      throw InputError(fmt::format("{} holds '{}' as {} of {} x {} x {}; it cannot also be {} of {} x {} x {}",
                                   request_.path, block.name, name_of(info.type), info.shape[0], info.shape[1],
                                   info.shape[2], name_of(block.type), n[0], n[1], n[2]));
    return found->second;
  }
  if (!contents_.grid) { // not given: the points are those of the first variable
    contents_.grid = GridDescription{n, {0, 0, 0}, {1, 1, 1}};
    vtkhdf::write_grid(*file_, *contents_.grid, contents_.closing);
  }
  created_.push_back(block.name);
  vtkhdf::Variable &made = contents_.variables[block.name];
  made =
      vtkhdf::create_variable(*file_, {block.name, block.type, n}, contents_, options_.filters, options_.chunk_bytes);
  if (n == contents_.grid->points && is_drawn(block.type) && vtkhdf::draws_views(contents_))
    vtkhdf::add_view(*file_, made, contents_);
  return made;
}

/// Rank 0: makes space for a variable and returns what the other ranks must know.
std::string Hdf5Engine::make_room(const Block &block) {
  std::vector<vtkhdf::Chunk> chunks;
  if (block.list) {
    if (contents_.variables.count(block.name))
      throw InputError(
          fmt::format("{} holds '{}' as a grid variable; it cannot also be a list", request_.path, block.name));
    chunks = vtkhdf::create_list(*file_, {block.name, block.type, block.place.shape, true}, row());
  } else {
    const vtkhdf::Variable &variable = find_or_create(block);
    chunks = vtkhdf::make_room(*file_, variable, row());
    if (chunks.empty())
      return packed + encode_creation(h5::dataset(*file_, variable.path));
  }
  for (const auto &chunk : chunks)
    preallocate_large(request_.path, chunk.offset, chunk.bytes);
  return placed + std::string(reinterpret_cast<const char *>(chunks.data()), chunks.size() * sizeof(vtkhdf::Chunk));
}

void Hdf5Engine::write(const Block &block) {
  const h5::Quiet quiet;
  const std::string room = request_.comm.from_root([&] {
    const h5::Failures failures;
    std::string found = make_room(block);
    failures.check("write " + request_.path);
    return found;
  });
  step_.variables.push_back({block.name, block.type, block.place.shape, block.list});
  const std::string_view what = std::string_view(room).substr(1);
  room[0] == packed ? write_packed(block, std::string(what)) : write_chunks(block, chunks_of(what));
}

void Hdf5Engine::write_chunks(const Block &block, const std::vector<vtkhdf::Chunk> &chunks) {
  if (!shared_)
    shared_.emplace(request_.comm, request_.path, request_.sync, options_.transfer, options_.failure_timeout);
  const Index3 &n = block.place.shape;
  const Span span(*request_.trace, Phase::write,
                  block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
  for (const auto &chunk : chunks) {
    // The part of the block in this chunk, in indices relative to the chunk.
    Placement part{{n[0], n[1], chunk.planes}, block.place.block, block.place.memory};
    part.block.start[2] -= chunk.begin;
    part.memory.start[2] -= chunk.begin;
    part.block = part.block.intersect({{0, 0, 0}, part.shape});
    shared_->write(chunk.offset, {block.name, block.type, part, block.data, block.list, block.checksum});
  }
}

void Hdf5Engine::write_packed(const Block &block, const std::string &creation) {
  const vtkhdf::Variable *variable = root() ? &contents_.variables.at(block.name) : nullptr;
  const h5::Handle data = root() ? h5::dataset(*file_, variable->path) : h5::Handle();
  write_through_filters(request_.comm, block, creation, data, row(), request_.path, *request_.trace);
}

/// Rank 0: has all steps but the open one in the drawing.
void Hdf5Engine::draw_earlier(hid_t file) {
  const auto read = [&](std::size_t step) {
    return vtkhdf::read_step(file, contents_, static_cast<std::int64_t>(step));
  };
  if (drawing_->steps() == 0) // appending
    drawing_->take_up(contents_, read);
  try {
    for (std::size_t step = drawing_->steps(); step < contents_.steps.size(); ++step)
      drawing_->add(contents_, read(step));
  } catch (...) {
    drawing_->clear(); // rather no drawing than one of some of the steps
    throw;
  }
}

void Hdf5Engine::end_step(const StepMetadata &metadata) {
  const h5::Quiet quiet;
  if (request_.sync && shared_) {
    const Span span(*request_.trace, Phase::sync);
    shared_->sync();
  }
  request_.comm.agree([&] {
    if (!root())
      return;
    const h5::Failures failures;
    for (const auto &[name, variable] : contents_.variables)
      if (std::none_of(step_.variables.begin(), step_.variables.end(),
                       [&, &name = name](const VariableInfo &written) { return written.name == name; }))
        vtkhdf::leave_out(*file_, request_.path, variable, row());
    if (attributes_unsaved_)
      vtkhdf::write_attributes(*file_, contents_.attributes);
    vtkhdf::add_vectors(*file_, contents_);
    if (contents_.grid) {
      draw_earlier(*file_);
      drawing_->add(contents_, step_);
    }
    step_.scalars = metadata.scalars;
    vtkhdf::append_step(*file_, row(), step_, metadata.blocks, options_.block_list);
    failures.check("write " + request_.path);
    file_->commit(vtkhdf::marks(*file_, row()));
  });
  contents_.steps.push_back(step_.info);
  attributes_unsaved_ = false;
}

void Hdf5Engine::abandon_step() noexcept {
  if (!file_ || !file_->changing())
    return;
  file_->discard();
  // The file no longer has what the step added, so memory must not have it either. The next change reads the rest
  // again.
  for (const auto &name : created_)
    contents_.variables.erase(name);
  created_.clear();
  if (drawing_)
    drawing_->cut(contents_.steps.size());
  if (contents_.steps.empty())
    contents_.grid = request_.grid;
}

void Hdf5Engine::set_attributes(const Attributes &attributes) {
  contents_.attributes = attributes;
  attributes_unsaved_ = true;
}

void Hdf5Engine::close() {
  const h5::Quiet quiet;
  request_.comm.agree([&] {
    if (!file_)
      return;
    file_->check_in_place();
    if (attributes_unsaved_)
      change([&] { vtkhdf::write_attributes(*file_, contents_.attributes); });
  });
  attributes_unsaved_ = false;
  shared_.reset();
  file_.reset();
  reader_ = StepReader(request_.path); // it keeps the file open
}

void Hdf5Engine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  reader_.read(contents_, step, variable, box, data);
}

} // namespace

std::unique_ptr<Engine> open_hdf5(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<Hdf5Engine>(request, parameters);
}

} // namespace tailrace::io
