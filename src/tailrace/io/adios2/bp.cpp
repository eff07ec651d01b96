// The engines bp4 and bp5: a directory in ADIOS2's formats of those names.
//
// Two defaults differ from those of ADIOS2 (docs/io/bp.md has the measurements). On up to 64 ranks, every rank writes
// its own data file. BP5 writes every large array directly from the caller's memory and computes no minima and maxima
// (StatsLevel=0), because each of these passes over memory costs as much as the writing.
//
// When one rank fails, ADIOS2 throws on that rank and leaves the others waiting in collective calls. So rank 0 first
// checks that the file opens and that the disk has space, every rank reserves space in its own file, and all agree
// before they call ADIOS2. An error inside ADIOS2 ends the program after a time, see guarded_collective. ADIOS2 also
// waits forever for bytes that a data file lacks, and crashes on damaged metadata. We check tailrace.json to find both
// cases first.

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/bp_opening.hpp>
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/adios2/output.hpp>
#include <tailrace/io/adios2/session.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/engine/series_changed.hpp>
#include <tailrace/io/storage/disk_space.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/own_files.hpp>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <optional>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::int64_t alignment = std::int64_t{8} << 10;      ///< largest alignment of a rank's values in a data file
constexpr std::int64_t least_in_place = std::int64_t{4} << 20; // BP5 copies smaller arrays and writes them together

class BpEngine final : public StepSink, public StepSource {
public:
  BpEngine(const std::string &kind, const OpenRequest &request, Parameters &parameters);

  std::vector<StepInfo> steps() const override { return steps_; }
  std::vector<std::string> files() const override { return {request_.path}; }
  void begin_step(const StepInfo &step) override;
  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override { attributes_ = attributes, in_files_ = false; }
  void close() override;
  bool copies() const override { return is_bp4(); }

  std::optional<GridDescription> grid() const override;
  Attributes attributes() const override { return attributes_; }
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

private:
  template <class Work> auto look(std::size_t step, const std::string &what, Work work) const;
  void open_alone() const;
  void drop_reader() const;
  void cut_index() const noexcept;
  bool root() const { return request_.comm.rank() == 0; }
  bool is_bp4() const { return kind_ == "bp4"; }
  void open();
  void open_again();
  void open_engine(adios2::Mode mode);
  void note_files(OwnFiles::State state);
  void sync_files() const;
  std::string file(const std::string &name) const { return request_.path + "/" + name; }
  void reserve_data(std::int64_t bytes) const;
  void reserve_rest(const StepMetadata &metadata) const;
  void release() const noexcept;

  std::string kind_;
  OpenRequest request_;
  Adios2Options options_;
  std::vector<StepInfo> steps_;
  std::vector<std::size_t> numbers_; ///< open to read: ADIOS2's numbers of the steps
  BpView view_;                      ///< open to read
  Attributes attributes_;
  bool in_files_ = false; ///< ADIOS2 has stored these attributes, with a step
  std::optional<GridDescription> grid_;
  std::optional<BpRecord> record_;            ///< open to write, on rank 0
  OwnFiles own_files_;                        ///< on rank 0
  std::string sizes_;                         ///< BP4: sizes of the data files before the open step, on rank 0
  std::optional<std::uintmax_t> index_bytes_; ///< size of md.idx before the open step, on rank 0
  std::int64_t buffered_ = 0;                 ///< bytes of the open step on all ranks that ADIOS2 has not yet written
  StepInfo step_;
  std::int64_t own_ = 0;       ///< the part of `buffered_` on this rank
  std::int64_t variables_ = 0; ///< of the open step
  std::string own_file_;       ///< data file that only this rank writes; empty: the file is shared
  bool in_step_ = false, asynchronous_ = false;
  bool broken_ = false; ///< ADIOS2 is in a step that it cannot drop
  mutable std::optional<Adios2Io> adios_;
  mutable std::optional<Adios2Io> everyones_; ///< of all ranks, which this one reads with no more, see drop_reader
  bp::Output output_;
  mutable adios2::IO io_; // ADIOS2 sets selections on the variables themselves, also to read
  mutable adios2::Engine engine_;
  mutable bp::HeldSteps held_; ///< open to read
};

BpEngine::BpEngine(const std::string &kind, const OpenRequest &request, Parameters &parameters)
    : kind_(kind), request_(request) {
  request.comm.agree([&] { options_ = adios2_options(kind, request.path, parameters); });
  open();
}

/// Opens the series as the request says. Collective.
void BpEngine::open() {
  const OpenRequest &request = request_;
  bp::Found found = bp::prepare(kind_, request);
  adios_.emplace(options_, request.path, request.comm.get());
  const bool alone = bp::choose_parameters(*adios_, kind_, request, found.data_files);
  own_file_ = alone ? file(fmt::format("data.{}", request.comm.rank())) : "";
  asynchronous_ = adios_->has("AsyncWrite") || adios_->has("BurstBufferPath");
  io_ = adios_->io();
  output_ = bp::Output(io_, options_.operation, false, std::move(found.kinds));
  if (request.mode == Mode::append && !is_bp4()) // all of them; a configuration file may say less
    io_.SetParameter("AppendAfterSteps", std::to_string(found.counted()));
  attributes_ = std::move(found.attributes);
  numbers_ = std::move(found.numbers);
  steps_ = std::move(found.steps);
  view_ = std::move(found.view);
  if (root() && request.mode != Mode::read)
    record_.emplace(request.path, request.sync, found.has_record ? std::optional(attributes_) : std::nullopt);
  if (request.mode == Mode::read ? steps_.empty() : !steps_.empty()) {
    // ADIOS2 cannot read a series without steps, see has_steps. When it appends, and is closed before a step begins, it
    // adds an empty step (BP4) or an old one again (BP5 with AsyncWrite): the first step opens it.
    request.comm.agree([&] {
      if (!record_)
        return;
      record_->write(attributes_);
      note_files(OwnFiles::State::closed);
    });
    return;
  }
  open_engine(request.mode == Mode::read ? adios2::Mode::ReadRandomAccess : adios2::Mode::Write);
  if (request.mode == Mode::read)
    request.comm.agree([&] {
      if (root() && view_.changed())
        throw series_changed(request.path);
      grid_ = translate("open " + request.path, [&] { return bp::read_grid(io_); });
    });
}

/// Drops the step that ADIOS2 is in, which it cannot: lets go of it without closing, and appends to what was complete
/// before. Collective.
void BpEngine::open_again() {
  if (asynchronous_)
    throw IoError(fmt::format("{} is out of use since an error; ADIOS2 cannot drop the step it was in, and with its "
                              "asynchronous writing no series is opened again. To go on, open it to append",
                              request_.path));
  const Attributes attributes = attributes_; // the files may not have the last ones yet
  const std::size_t steps = steps_.size();
  engine_ = {};
  io_ = {};
  output_ = {};
  adios_.reset();
  record_.reset();
  own_files_ = {};
  request_.mode = Mode::append;
  request_.replaced = nullptr; // it was set aside when the series began
  request_.rewind_to = steps_.empty() ? std::numeric_limits<std::int64_t>::min() : steps_.back().index;
  open();
  attributes_ = attributes;
  if (steps_.size() != steps)
    throw IoError(fmt::format("cannot go on with {} after an error: it has {} steps, and should have {}", request_.path,
                              steps_.size(), steps));
  broken_ = in_step_ = false;
}

/// Opens the series with ADIOS2. Collective.
void BpEngine::open_engine(adios2::Mode mode) {
  if (record_)
    record_->watch();
  meet_in_adios2(request_.comm, options_.failure_timeout, "open " + request_.path,
                 [&] { engine_ = io_.Open(request_.path, mode); });
  request_.comm.agree([&] { // when every rank has cut its file of an earlier series; otherwise after the first step
    if (record_ && lower_case(adios_->value("AsyncOpen")) == "false")
      note_files(OwnFiles::State::open);
  });
}

/// Called on rank 0, which notes the few files of all ranks.
void BpEngine::note_files(OwnFiles::State state) {
  if (adios_->has("BurstBufferPath")) // a thread of ADIOS2 copies them
    return;
  for (const auto &path : bp_files(request_.path))
    own_files_.note(path, state);
}

void BpEngine::begin_step(const StepInfo &step) {
  if (broken_)
    open_again();
  step_ = step;
  index_bytes_.reset();
  buffered_ = own_ = variables_ = 0;
  in_step_ = true;
  output_.begin_step();
  if (!engine_) {
    request_.comm.agree([&] { own_files_.check(); });
    open_engine(adios2::Mode::Append);
  }
  request_.comm.agree([&] {
    own_files_.check();
    if (root())
      index_bytes_ = bp::size_of_index(request_.path);
    if (root() && is_bp4())
      sizes_ = valid_json_text(json(bp::data_sizes(request_.path)));
    translate("begin a step of " + request_.path, [&] { engine_.BeginStep(); });
  });
}

void BpEngine::write(const Block &block) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const std::int64_t bytes = block.place.block.size() * size, all = product(block.place.shape) * size;
  const Span span(*request_.trace, Phase::write, bytes);
  // All ranks must make the same choice, so it depends on the size of the whole variable.
  const bool in_place = !is_bp4() && all / request_.comm.size() >= least_in_place;
  ++variables_;
  request_.comm.agree([&] {
    if (root() && in_place)
      check_free_space(request_.path, buffered_ + all, request_.comm.size());
    if (in_place)
      reserve_data(own_ + bytes);
    translate("write " + request_.path,
              [&] { in_place ? output_.put_in_place(engine_, block) : output_.put(engine_, block); });
  });
  if (!in_place) {
    buffered_ += all;
    own_ += bytes;
    return;
  }
  meet_in_adios2(request_.comm, options_.failure_timeout, "write " + request_.path,
                 [&] { engine_.PerformDataWrite(); });
  buffered_ = own_ = 0;
}

/// Does nothing for a file that several ranks write, because the positions are not known yet, and for asynchronous
/// writing, because the files still grow.
void BpEngine::reserve_data(std::int64_t bytes) const {
  if (bytes > 0 && !own_file_.empty() && !asynchronous_)
    preallocate_behind(own_file_, bytes + alignment);
}

/// Reserves more than enough space for what the end of a step writes: copied values and metadata.
void BpEngine::reserve_rest(const StepMetadata &metadata) const {
  std::int64_t texts = 0, numbers = variables_ * request_.comm.size();
  if (root()) {
    texts = static_cast<std::int64_t>(metadata.checksums().size() + sizes_.size() +
                                      valid_json_text(attributes_to_json(attributes_)).size());
    for (const auto &[name, value] : metadata.scalars) {
      const auto *text = std::get_if<std::string>(&value);
      texts += static_cast<std::int64_t>(name.size() + (text ? text->size() : 0));
      ++numbers;
    }
  }
  // BP4 also stores headers and copies of all texts among the values.
  reserve_data(is_bp4() ? own_ + 1024 * (variables_ + 4) + 2 * texts : own_);
  if (!root() || asynchronous_)
    return;
  preallocate_behind(file("md.0"), (1 << 14) + 512 * numbers + 2 * texts);
  preallocate_behind(file("md.idx"), (1 << 12) + 16 * numbers + 64 * request_.comm.size());
  if (!is_bp4())
    preallocate_behind(file("mmd.0"),
                       (1 << 13) + 256 * static_cast<std::int64_t>(variables_ + metadata.scalars.size()));
}

void BpEngine::release() const noexcept {
  if (asynchronous_)
    return;
  if (!own_file_.empty())
    release_preallocated(own_file_);
  if (root())
    for (const char *name : {"md.0", "md.idx", "mmd.0"})
      release_preallocated(file(name));
}

void BpEngine::abandon_step() noexcept {
  broken_ = in_step_;
  if (root() && in_step_ && !asynchronous_)
    cut_index();
  release();
}

/// Takes the open step out of the list of steps, where it may be already if something failed after that.
void BpEngine::cut_index() const noexcept {
  if (!index_bytes_)
    return;
  try {
    bp::cut_index(request_.path, *index_bytes_);
  } catch (const std::exception &) { // for example a full disk, or no more files may be open
    const std::string index = file("md.idx");
    const auto bytes = static_cast<off_t>(*index_bytes_);
    struct stat now{};
    const bool known = ::stat(index.c_str(), &now) == 0;
    if (!known || now.st_size > bytes)
      static_cast<void>(!::truncate(index.c_str(), bytes)); // if this fails too, at least no record has the step
  }
}

void BpEngine::end_step(const StepMetadata &metadata) {
  request_.comm.agree([&] {
    if (root())
      check_free_space(request_.path, buffered_, request_.comm.size());
    reserve_rest(metadata);
    translate("write " + request_.path, [&] {
      output_.define_attributes(attributes_, request_.grid, steps_.empty());
      output_.end_step(engine_, step_, metadata, root());
      if (is_bp4())
        output_.put_text(engine_, bp::sizes_name, sizes_, root());
    });
  });
  {
    const Span span(*request_.trace, Phase::write);
    meet_in_adios2(request_.comm, options_.failure_timeout, "write " + request_.path, [&] {
      engine_.EndStep();
      own_files_.check();
      if (!record_)
        return;
      note_files(OwnFiles::State::open);
      if (!asynchronous_) // with asynchronous writing the files still grow
        record_->add_new();
    });
  }
  if (request_.sync)
    request_.comm.agree([&] { root() ? sync_files() : void(); });
  in_step_ = false; // from here on the step counts, and nothing may fail
  steps_.push_back(step_);
  in_files_ = true;
  if (root() && !asynchronous_)
    record_->write(attributes_);
}

void BpEngine::sync_files() const {
  const Span span(*request_.trace, Phase::sync);
  for (const auto &entry : fs::directory_iterator(request_.path))
    sync_path(entry.path().string());
  sync_path(request_.path);
  sync_parent(request_.path);
}

void BpEngine::close() {
  if (broken_ && asynchronous_)
    return;
  if (broken_)
    open_again();
  if (request_.mode == Mode::read) { // do not close the engine, see bp::prepare
    engine_ = {};
    io_ = {};
    everyones_.reset();
    return adios_.reset();
  }
  meet_in_adios2(request_.comm, options_.failure_timeout, "close " + request_.path, [&] {
    if (engine_)
      engine_.Close();
    own_files_.check();
    if (record_ && !asynchronous_)
      record_->add_new();
  });
  release();
  request_.comm.agree([&] {
    if (record_ && !record_->write(attributes_) && !in_files_ && !attributes_.empty())
      throw IoError(fmt::format("cannot write {}: the attributes that were set after the last step are lost; the steps "
                                "are complete. To fix this, make room there, append to the series, and set them again",
                                file("tailrace.json")));
  });
}

// ---- reading ----

std::optional<GridDescription> BpEngine::grid() const { return request_.mode == Mode::read ? grid_ : request_.grid; }

/// Reads from a step that is still in the series.
template <class Work> auto BpEngine::look(std::size_t step, const std::string &what, Work work) const {
  const auto check = [&] {
    if (view_.changed(numbers_.at(step)))
      throw series_changed(request_.path, steps_.at(step).index);
  };
  check();
  try {
    if (!engine_)
      open_alone();
    auto found = translate(fmt::format("read {}{}", what, request_.path), [&] { return work(numbers_.at(step)); });
    check();
    return found;
  } catch (const Error &) {
    drop_reader();
    check();
    throw;
  }
}

/// After a read that failed, ADIOS2 keeps what it was asked for, and would read it with the next one, into memory that
/// may be of something else by then. So the next read begins with an engine of its own, for this rank alone. What all
/// ranks have opened together stays until all close it.
void BpEngine::drop_reader() const {
  held_.clear();
  engine_ = {};
  io_ = {};
  if (!everyones_)
    everyones_ = std::move(adios_);
  adios_.reset();
}

void BpEngine::open_alone() const {
  translate("open " + request_.path, [&] {
    adios_.emplace(options_, request_.path, MPI_COMM_SELF);
    io_ = adios_->io();
    engine_ = io_.Open(request_.path, adios2::Mode::ReadRandomAccess, MPI_COMM_SELF);
  });
}

std::vector<VariableInfo> BpEngine::variables(std::size_t step) const {
  return look(step, "", [&](std::size_t number) { return bp::variables(io_, engine_, held_, number); });
}

Scalars BpEngine::scalars(std::size_t step) const {
  return look(step, "", [&](std::size_t number) { return bp::scalars(io_, engine_, held_, number); });
}

std::string BpEngine::checksums(std::size_t step) const {
  return look(step, "", [&](std::size_t number) { return bp::text(io_, engine_, held_, number, bp::checksums_name); });
}

void BpEngine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  look(step, variable.name + " of ", [&](std::size_t number) {
    bp::read(io_, engine_, held_, number, variable, box, data);
    return true;
  });
}

} // namespace

std::unique_ptr<Engine> open_bp4(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<BpEngine>("bp4", request, parameters);
}

std::unique_ptr<Engine> open_bp5(const OpenRequest &request, Parameters parameters) {
  return std::make_unique<BpEngine>("bp5", request, parameters);
}

} // namespace tailrace::io

#endif
