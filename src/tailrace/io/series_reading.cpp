#include <tailrace/io/components.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/background_thread.hpp>
#include <tailrace/io/engine/engine_turn.hpp>
#include <tailrace/io/engine/verification.hpp>
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/opening/open_engine.hpp>
#include <tailrace/io/opening/settings.hpp>
#include <tailrace/io/recognition.hpp>
#include <tailrace/io/series_implementation.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>

namespace tailrace::io {

namespace {

/// The most copies of steps that may wait for the disk: a number beyond it is a mistake that takes all memory.
constexpr std::int64_t most_buffers = 512;

void check_stored(const std::optional<GridDescription> &grid, const std::string &path) {
  try {
    if (grid)
      check_grid(*grid);
  } catch (const InputError &error) {
    throw IoError(fmt::format("cannot open {}: it is damaged ({})", path, error.what()));
  }
}

/// The path from the root of the file system on; links are not followed.
std::string absolute(const std::string &path) {
  std::error_code none; // the directory of the program is gone: the path is of no use then, and its opening says so
  const std::string found = path.empty() ? path : std::filesystem::absolute(path, none).string();
  return none ? path : found;
}

} // namespace

Series::Implementation::Implementation(const std::string &path, Mode mode, const Communicator &comm,
                                       const Options &options)
    : process_(::getpid()), path_(path), mode_(mode == Mode::exclusive ? Mode::write : mode), comm_(comm),
      precision_(options.precision) {
  Settings settings;
  std::optional<Parameters> parameters;
  std::int64_t buffers = 0;
  OpenRequest request{path,    mode_,  mode == Mode::exclusive, comm, options.grid, options.rewind_to, false, false, {},
                      &trace_, &notes_};
  const EngineTurn before(false);
  // Rank 0 alone looks: a rank that cannot open a file would otherwise fail, and files may appear meanwhile.
  const std::string there =
      comm.from_root([&] { return mode_ == Mode::write || !options.engine.empty() ? std::string() : engine_at(path); });
  comm.agree([&] {
    settings = resolve_settings(path, mode_, options.engine, options.parameters, there);
    if (precision_ && !is_real(*precision_))
      throw InputError(fmt::format("{}: precision = {}: expected float32 or float64", path, name_of(*precision_)));
    if (options.rewind_to && mode_ != Mode::append)
      throw InputError(fmt::format("{}: only a series opened to append can be rewound", path));
    request.path = settings.path;
    if (request.grid)
      check_grid(*request.grid);
    parameters.emplace(settings.parameters);
    with_checksums_ = parameters->flag("checksums", true);
    request.sync = parameters->flag("sync", false);
    buffers = parameters->number("buffers", 0, 0);
    if (buffers > most_buffers)
      throw InputError(
          fmt::format("parameter buffers = '{}': expected at most {}, because each is a copy of a step "
                      "in memory. To fix this, give 2, or the number of steps that the disk may lag behind",
                      buffers, most_buffers));
    trace_file_ = absolute(parameters->text("trace", ""));
    folded_file_ = absolute(parameters->text("folded", ""));
    request.striping = take_striping(*parameters);
  });
  settings.engine = comm.broadcast(settings.engine, 0); // a file may appear after another rank has looked
  engine_name_ = settings.engine;
  const EngineTraits &traits = engine_traits(engine_name_);
  if (!traits.streams) // the path means the same when the program is in another directory later
    comm.agree([&] { request.path = absolute(request.path); });
  shares_library_ = !traits.library.empty() && !traits.streams; // a stream may wait for long
  const EngineTurn turn(shares_library_);
  if (!trace_file_.empty() || !folded_file_.empty())
    trace_.keep_events();
  const bool background = buffers > 0 && mode_ != Mode::read;
  request.background = background;
  if (background && BackgroundThread::allowed())
    request.comm = Communicator(comm.get());
  try {
    engine_ = open_engine(engine_name_, request, *parameters, lock_, replaced_);
  } catch (const IoError &error) {
    if (const std::string told = mode_ == Mode::read ? ReplacedSeries::told(request.path) : ""; !told.empty())
      throw IoError(fmt::format("{}; {}", error.what(), told));
    throw;
  }
  if (mode_ == Mode::read && engine_->steps().empty())
    if (const std::string told = ReplacedSeries::told(request.path); !told.empty())
      notes_.push_back(told);
  sink_ = dynamic_cast<StepSink *>(engine_.get());
  source_ = dynamic_cast<StepSource *>(engine_.get());
  stream_ = dynamic_cast<StreamSource *>(engine_.get());
  comm.agree([&] {
    if (mode_ != Mode::write)
      check_stored(engine_->grid(), path);
  });
  steps_ = engine_->steps();
  if (!steps_.empty())
    last_index_ = steps_.back().index;
  attributes_ = engine_->attributes();
  if (mode_ != Mode::read)
    writer_ =
        std::make_unique<StepWriter>(*sink_, request.comm, trace_, with_checksums_, replaced_ ? &*replaced_ : nullptr);
  target_ = writer_.get();
  if (background && BackgroundThread::allowed()) {
    const bool one_is_theirs = sink_->copies();
    if (one_is_theirs)
      notes_.push_back(
          fmt::format("buffers = {}: one of them is the copy that {} makes itself", buffers, engine_name_));
    background_ = std::make_unique<AsyncWriter>(*writer_, comm_, request.comm, trace_, path_,
                                                static_cast<std::size_t>(buffers - one_is_theirs), shares_library_);
    target_ = background_.get();
  } else if (background)
    notes_.push_back("writes in the calling thread, though buffers were asked for: this MPI was started without "
                     "MPI_THREAD_MULTIPLE");
}

/// A series that is not closed. Other ranks may still be dropping their files of an open step, which have the names of
/// earlier files: then the next writer puts the earlier series back.
Series::Implementation::~Implementation() {
  background_.reset();
  const EngineTurn turn(shares_library_);
  writer_.reset();
  engine_.reset();
  if (replaced_ && comm_.size() == 1 && !closed_)
    replaced_->put_back_if_possible();
}

bool Series::Implementation::is_copy() const { return process_ != ::getpid(); }

Series::Implementation::Turn::Turn(const Implementation &self) {
  if (self.is_copy()) // before the lock, which a thread of the other process may have had
    throw InputError(fmt::format("{} was opened by process {}, of which this one, {}, is a copy (fork). To fix this, "
                                 "open it again in this process, or start processes by \"spawn\"",
                                 self.path_, self.process_, ::getpid()));
  lock_ = std::unique_lock(self.mutex_);
}

Tally Series::Implementation::enter(const std::function<void(Tally &)> &check) const {
  Tally tally;
  std::exception_ptr fault;
  try {
    check(tally);
  } catch (...) {
    fault = std::current_exception();
    tally.largest[0] = 1;
  }
  comm_.combine(tally);
  if (tally.largest[0] > 0)
    comm_.agree([&] {
      if (fault)
        std::rethrow_exception(fault);
    });
  return tally;
}

void Series::Implementation::require_reading() const {
  if (closed_ || mode_ != Mode::read)
    throw InputError(fmt::format("{} is {}", path_, closed_ ? "closed" : "open for writing, not for reading"));
}

const StepInfo &Series::Implementation::step(std::size_t position) const {
  require_reading();
  if (position >= steps_.size())
    throw InputError(fmt::format("{} has {} steps; there is no step number {}", path_, steps_.size(), position));
  return steps_[position];
}

Series::Series(const std::string &path, Mode mode, const Communicator &comm, const Options &options)
    : self_(std::make_unique<Implementation>(path, mode, comm, options)) {}
Series::~Series() {
  if (self_ && self_->is_copy()) { // its end would remove the lock, and end the step, of the process that opened it
    [[maybe_unused]] const Implementation *left = self_.release();
  }
}
Series::Series(Series &&) noexcept = default;
Series &Series::operator=(Series &&) noexcept = default;

const std::string &Series::path() const { return self_->path_; }
Mode Series::mode() const { return self_->mode_; }
const std::string &Series::engine() const { return self_->engine_name_; }
const Communicator &Series::communicator() const { return self_->comm_; }
Counters Series::counters() const {
  Counters result = self_->counters_;
  result.bytes_read = self_->trace_.total(Phase::read).bytes;
  return result;
}
const Trace &Series::trace() const { return self_->trace_; }
std::vector<std::string> Series::notes() const { return self_->notes_.all(); }
const std::vector<StepInfo> &Series::steps() const { return self_->steps_; }
std::vector<std::string> Series::files() const {
  const Implementation::Turn turn(*self_);
  const EngineTurn engine(self_->shares_library());
  self_->require_reading();
  return self_->engine_->files();
}

std::optional<GridDescription> Series::grid() const {
  const Implementation::Turn turn(*self_);
  return self_->engine_->grid();
}

Attributes Series::attributes() const {
  const Implementation::Turn turn(*self_);
  return self_->attributes_;
}

std::vector<std::string> Series::damage() const {
  const Implementation::Turn turn(*self_);
  const EngineTurn engine(self_->shares_library());
  return self_->engine_->damage();
}

bool Series::streaming() const { return self_->stream_ != nullptr; }

void Series::alone(const std::function<void()> &work) const {
  const Implementation::Turn turn(*self_);
  work();
}

void Series::agree(const std::function<void()> &work) const {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) { work(); });
}

bool Series::next_step(double timeout) {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) { self_->require_reading(); });
  if (self_->stream_ == nullptr)
    return false;
  const EngineTurn engine(self_->shares_library());
  const Span span(self_->trace_, Phase::wait);
  const bool more = self_->stream_->next_step(timeout);
  self_->steps_ = self_->engine_->steps();
  self_->attributes_ = self_->engine_->attributes();
  return more;
}

std::vector<LeftOut> Series::dropped() const {
  const Implementation::Turn turn(*self_);
  const EngineTurn engine(self_->shares_library());
  return self_->sink_ ? self_->sink_->left_out() : std::vector<LeftOut>{};
}

Coupling Series::coupling() const {
  const Implementation::Turn turn(*self_);
  const EngineTurn engine(self_->shares_library());
  return self_->engine_->coupling();
}

std::vector<std::int64_t> Series::missed(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->step(step);
  return self_->stream_ ? self_->stream_->missed(step) : std::vector<std::int64_t>{};
}

std::vector<VariableInfo> Series::variables(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->step(step);
  const EngineTurn engine(self_->shares_library());
  return self_->source_->variables(step);
}

VariableInfo Series::variable(std::size_t step, const std::string &name) const {
  const Implementation::Turn turn(*self_);
  std::vector<std::string> names;
  for (auto &info : variables(step)) {
    if (info.name == name)
      return info;
    names.push_back(info.name);
  }
  const std::string near = nearest(name, names);
  throw InputError(fmt::format("{}: step {} has no variable '{}'{}", path(), self_->steps_[step].index, name,
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

Scalars Series::scalars(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->step(step);
  const EngineTurn engine(self_->shares_library());
  return self_->source_->scalars(step);
}

void Series::Implementation::read(std::size_t step, const VariableInfo &info, Type type, const Box &box,
                                  void *data) const {
  check_placement(info.name, {info.shape, box, box}, data, info.list);
  if (!convertible(info.type, type))
    throw InputError(fmt::format("{}: '{}' is stored as {} and cannot be read as {}", path_, info.name,
                                 name_of(info.type), name_of(type)));
  if (box.empty())
    return;
  if (type == info.type)
    return source_->read(step, info, box, data);
  std::vector<char> stored(static_cast<std::size_t>(box.size()) * size_of(info.type));
  source_->read(step, info, box, stored.data());
  const Span span(trace_, Phase::convert);
  convert(info.type, stored.data(), type, data, box.size());
}

void Series::read(std::size_t step, const std::string &name, Type type, const Box &box, void *data) const {
  read(step, [&] { return ReadRequest{name, type, box, data, {}, 0}; });
}

void Series::read(std::size_t step, const std::function<ReadRequest()> &make) const {
  const Implementation::Turn turn(*self_);
  const EngineTurn engine(self_->shares_library());
  self_->enter([&](Tally &) {
    const auto [name, type, box, data, components, first] = make();
    if (!components)
      return self_->read(step, variable(step, name), type, box, data);
    const std::int64_t found = count_components(*this, step, name);
    if (found == 0)
      variable(step, component_name(name, 0)); // throws and lists the existing variables
    if (first < 0 || *components < 0 || first + *components > found)
      throw InputError(fmt::format("{}: '{}' has {} components; {} from number {} on were asked for", path(), name,
                                   found, *components, first));
    auto *bytes = static_cast<char *>(data);
    const auto size = static_cast<std::int64_t>(size_of(type)) * box.size();
    for (std::int64_t c = 0; c < *components; ++c)
      self_->read(step, variable(step, component_name(name, first + c)), type, box, bytes ? bytes + c * size : nullptr);
  });
}

std::vector<std::string> Series::verify(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) { self_->step(step); });
  const EngineTurn engine(self_->shares_library());
  return verify_step(*self_->source_, self_->comm_, step);
}

std::vector<std::string> Series::unchecked(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->step(step);
  const EngineTurn engine(self_->shares_library());
  return unchecked_variables(*self_->source_, step);
}

bool Series::has_table(std::size_t step) const {
  const Implementation::Turn turn(*self_);
  self_->step(step);
  const EngineTurn engine(self_->shares_library());
  return self_->source_->has_table(step);
}

} // namespace tailrace::io
