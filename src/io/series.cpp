#include <tailrace/io/series.hpp>

#include <tailrace/io/block.hpp>
#include <tailrace/io/engine.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/stopwatch.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <set>

namespace tailrace::io {

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_verified_at_once = std::int64_t{64} << 20; // bytes, so that a block of any size can be

} // namespace

std::string engine_for(const std::string &path) {
  const std::string extension = fs::path(path).extension().string();
  if (extension == ".bp")
    return "bp5";
  if (extension == ".h5" || extension == ".hdf" || extension == ".hdf5" || extension == ".vtkhdf")
    return "hdf5";
  if (extension == ".sion")
    return "sion";
  std::error_code ignored;
  if (extension.empty() || path.back() == '/' || fs::is_directory(path, ignored))
    return "raw";
  throw InputError(
      fmt::format("'{}': no engine goes by the extension '{}'. To fix this, name the engine, or use .bp (bp5), "
                  ".h5 or .vtkhdf (hdf5), .sion (sion), or a directory (raw)",
                  path, extension));
}

class Series::Implementation {
public:
  Implementation(const std::string &path, Mode mode, const Communicator &comm, const Options &options);

  void require_writing() const {
    if (closed_ || mode_ == Mode::read)
      throw InputError(fmt::format("{} is {}", path_, closed_ ? "closed" : "open for reading, not for writing"));
  }
  void require_step() const {
    require_writing();
    if (!open_step_)
      throw InputError(fmt::format("{}: no step is open; call begin_step first", path_));
  }
  const StepInfo &step(std::size_t position) const {
    if (closed_ || mode_ != Mode::read)
      throw InputError(fmt::format("{} is {}", path_, closed_ ? "closed" : "open for writing, not for reading"));
    if (position >= steps_.size())
      throw InputError(fmt::format("{} has {} steps; there is no step number {}", path_, steps_.size(), position));
    return steps_[position];
  }

  /// Runs an engine call of the open step; when it fails, the step is given up.
  template <class Work> void in_step(Work work) {
    try {
      work();
    } catch (...) {
      engine_->abandon_step();
      open_step_.reset();
      throw;
    }
  }

  Type check_write(const std::string &name, Type type, const void *data, const Placement &place);
  void write(const std::string &name, Type type, const void *data, const Placement &place);
  void end_step();
  std::string gather_checksums() const;
  json stored_checksums(std::size_t position) const;
  std::vector<std::string> verify(std::size_t position) const;
  std::string verify_block(std::size_t position, const VariableInfo &variable, const Box &box,
                           const std::string &sum) const;

  std::string path_, engine_name_;
  Mode mode_;
  Communicator comm_;
  std::optional<Type> precision_;
  bool with_checksums_ = true, closed_ = false;
  mutable Counters counters_;      // verify counts what it reads
  std::unique_ptr<Engine> engine_; // after counters_, which it uses
  std::vector<StepInfo> steps_;
  Attributes attributes_;
  std::optional<StepInfo> open_step_;
  std::map<std::string, VariableInfo> declared_;
  std::set<std::string> written_; ///< variables of the open step
  StepTail tail_;
  json checksums_; ///< this rank's of the open step: name -> [z, y, x, nz, ny, nx, sum]
};

Series::Implementation::Implementation(const std::string &path, Mode mode, const Communicator &comm,
                                       const Options &options)
    : path_(path), mode_(mode), comm_(comm), precision_(options.precision) {
  Parameters parameters(options.parameters);
  Target target{path, mode, comm, options.grid, options.rewind_to, false, &counters_};
  comm.agree([&] {
    engine_name_ = options.engine.empty() ? engine_for(path) : options.engine;
    if (options.rewind_to && mode != Mode::append)
      throw InputError(fmt::format("{}: only a series opened to append can be rewound", path));
    with_checksums_ = parameters.flag("checksums", true);
    target.sync = parameters.flag("sync", false);
    const std::vector<std::string> engines{"bp5", "hdf5", "null", "raw", "sion"};
    if (std::find(engines.begin(), engines.end(), engine_name_) == engines.end()) {
      const std::string near = nearest(engine_name_, engines);
      throw InputError(fmt::format("unknown engine '{}': expected bp5, hdf5, null, raw or sion{}", engine_name_,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
  });
  if (engine_name_ == "raw")
    engine_ = open_raw(target, parameters);
  else if (engine_name_ == "hdf5")
    engine_ = open_hdf5(target, parameters);
  else if (engine_name_ == "null")
    engine_ = open_null(target, parameters);
  else if (engine_name_ == "sion")
    engine_ = open_sion(target, parameters);
  else
    engine_ = open_adios2(engine_name_, target, parameters);
  steps_ = engine_->steps();
  attributes_ = engine_->attributes();
}

Type Series::Implementation::check_write(const std::string &name, Type type, const void *data, const Placement &place) {
  // Ranks that disagree on what they are writing would each wait for the other, or mix two variables into one.
  const std::string ours = fmt::format("{} ({}, {})", name, name_of(type), describe(place.shape));
  const std::string theirs = comm_.broadcast(ours, 0);
  Type stored = precision_.value_or(type);
  comm_.agree([&] {
    require_step();
    if (ours != theirs)
      throw InputError(
          fmt::format("{}: rank 0 writes {} and this rank {}; all ranks write the same variables in the same order",
                      path_, theirs, ours));
    check_name(name);
    check_placement(name, place, data);
    if (written_.count(name) || tail_.scalars.count(name) || name == "time" || name == "step")
      throw InputError(fmt::format("{}: '{}' is already written in this step", path_, name));
    const auto known = declared_.find(name);
    if (known != declared_.end()) {
      stored = known->second.type;
      if (known->second.shape != place.shape)
        throw InputError(fmt::format("{}: shape of '{}' was {} before and is now {}", path_, name,
                                     describe(known->second.shape), describe(place.shape)));
    }
  });
  const std::int64_t covered = comm_.sum(place.block.size());
  if (covered != product(place.shape))
    throw InputError(fmt::format("{}: the blocks of '{}' hold {} points together, but its shape {} has {}", path_, name,
                                 covered, describe(place.shape), product(place.shape)));
  return stored;
}

void Series::Implementation::write(const std::string &name, Type type, const void *data, const Placement &place) {
  const Type stored = check_write(name, type, data, place);
  Block block{name, stored, place, data};
  std::vector<char> converted;
  {
    const Stopwatch watch(counters_.convert_seconds);
    comm_.agree([&] { // may run out of memory on one rank
      if (stored != type && !place.block.empty()) {
        converted = convert_block(place, type, stored, data);
        block.data = converted.data();
        block.place.memory = place.block;
      }
      if (with_checksums_ && !place.block.empty()) {
        const auto &[start, count] = place.block;
        checksums_[name] = {start[2],
                            start[1],
                            start[0],
                            count[2],
                            count[1],
                            count[0],
                            checksum(block.place, size_of(stored), block.data)};
      }
    });
  }
  const Stopwatch watch(counters_.write_seconds);
  in_step([&] { engine_->write(block); });
  declared_[name] = {name, stored, place.shape};
  written_.insert(name);
  counters_.bytes_written += place.block.size() * static_cast<std::int64_t>(size_of(stored));
}

std::string Series::Implementation::gather_checksums() const {
  json all = json::object();
  for (const auto &text : comm_.gather(checksums_.dump(), 0)) {
    const json ours = json::parse(text);
    for (const auto &[name, sum] : ours.items())
      all[name].push_back(sum);
  }
  return all.dump();
}

void Series::Implementation::end_step() {
  const Stopwatch watch(counters_.finish_seconds);
  comm_.agree([&] { require_step(); });
  if (with_checksums_)
    tail_.checksums = gather_checksums();
  in_step([&] { engine_->end_step(tail_); });
  steps_.push_back(*open_step_);
  open_step_.reset();
  ++counters_.steps;
}

std::string Series::Implementation::verify_block(std::size_t position, const VariableInfo &variable, const Box &box,
                                                 const std::string &sum) const {
  try {
    check_placement(variable.name, {variable.shape, box, box}, &box);
    const auto size = static_cast<std::int64_t>(size_of(variable.type));
    RunningChecksum found;
    std::vector<char> data;
    for (const Box &piece : pieces_of(box, most_verified_at_once / size)) {
      data.resize(static_cast<std::size_t>(piece.size() * size));
      engine_->read(position, variable, piece, data.data());
      counters_.bytes_read += piece.size() * size;
      found.add(data.data(), data.size());
    }
    if (found.text() == sum)
      return {};
    return fmt::format("{}: block {} of step {} differs from its checksum", variable.name, describe(box),
                       steps_[position].index);
  } catch (const Error &error) { // what cannot be read, and a block outside the shape
    return fmt::format("{}: block {} of step {}: {}", variable.name, describe(box), steps_[position].index,
                       error.what());
  }
}

json Series::Implementation::stored_checksums(std::size_t position) const {
  step(position);
  const std::string text = engine_->checksums(position);
  return text.empty() ? json::object() : json::parse(text);
}

std::vector<std::string> Series::Implementation::verify(std::size_t position) const {
  const Stopwatch watch(counters_.read_seconds);
  json ours = json::array();
  comm_.agree([&] {
    step(position);
    try {
      const json stored = stored_checksums(position);
      int turn = 0; // the ranks take turns at the blocks
      for (const auto &variable : engine_->variables(position))
        for (const auto &sum : stored.value(variable.name, json::array())) {
          if (turn++ % comm_.size() != comm_.rank())
            continue;
          const Box box{{sum.at(2), sum.at(1), sum.at(0)}, {sum.at(5), sum.at(4), sum.at(3)}};
          const std::string damage = verify_block(position, variable, box, sum.at(6).get<std::string>());
          if (!damage.empty())
            ours.push_back(damage);
        }
    } catch (const json::exception &) {
      if (comm_.rank() == 0)
        ours.push_back(fmt::format("the checksums of step {} are damaged", steps_[position].index));
    } catch (const IoError &error) {
      if (comm_.rank() == 0)
        ours.push_back(fmt::format("step {}: {}", steps_[position].index, error.what()));
    }
  });
  json all = json::array();
  for (const auto &text : comm_.gather(ours.dump(), 0)) {
    const json part = json::parse(text);
    all.insert(all.end(), part.begin(), part.end());
  }
  return json::parse(comm_.broadcast(all.dump(), 0)).get<std::vector<std::string>>();
}

// ---- the public face ----

Series::Series(const std::string &path, Mode mode, const Communicator &comm, const Options &options)
    : self_(std::make_unique<Implementation>(path, mode, comm, options)) {}
Series::~Series() = default;
Series::Series(Series &&) noexcept = default;
Series &Series::operator=(Series &&) noexcept = default;

const std::string &Series::path() const { return self_->path_; }
Mode Series::mode() const { return self_->mode_; }
const std::string &Series::engine() const { return self_->engine_name_; }
const Communicator &Series::communicator() const { return self_->comm_; }
const Counters &Series::counters() const { return self_->counters_; }
const std::vector<StepInfo> &Series::steps() const { return self_->steps_; }
std::optional<GridDescription> Series::grid() const { return self_->engine_->grid(); }
Attributes Series::attributes() const { return self_->attributes_; }

void Series::declare(const std::string &name, const Index3 &shape, Type stored) {
  self_->comm_.agree([&] {
    self_->require_writing();
    check_name(name);
    check_placement(name, {shape, {}, {}}, nullptr);
    if (self_->declared_.count(name))
      throw InputError(fmt::format("{}: '{}' is already declared or written", path(), name));
  });
  self_->declared_[name] = {name, stored, shape};
}

void Series::begin_step(std::int64_t index, double time) {
  auto &self = *self_;
  check_mpi(MPI_Bcast(&time, 1, MPI_DOUBLE, 0, self.comm_.get()), "MPI_Bcast");
  std::int64_t first = index;
  check_mpi(MPI_Bcast(&first, 1, MPI_INT64_T, 0, self.comm_.get()), "MPI_Bcast");
  self.comm_.agree([&] {
    self.require_writing();
    if (self.open_step_)
      throw InputError(fmt::format("{}: step {} is still open; call end_step first", path(), self.open_step_->index));
    if (first != index)
      throw InputError(fmt::format("{}: rank 0 begins step {} and this rank step {}", path(), first, index));
    if (!self.steps_.empty() && index <= self.steps_.back().index)
      throw InputError(
          fmt::format("{}: step {} cannot follow step {}. To overwrite later steps, open the series to append "
                      "with rewind_to",
                      path(), index, self.steps_.back().index));
    if (!std::isfinite(time))
      throw InputError(fmt::format("{}: the time of step {} is {}", path(), index, time));
  });
  self.written_.clear();
  self.tail_ = {};
  self.checksums_ = json::object();
  self.open_step_ = StepInfo{index, time};
  self.in_step([&] { self.engine_->begin_step(*self.open_step_); });
}

void Series::write(const std::string &name, Type type, const void *data, const Placement &place) {
  self_->write(name, type, data, place);
}

void Series::write_scalar(const std::string &name, double value) {
  self_->comm_.agree([&] {
    self_->require_step();
    check_name(name);
    if (self_->written_.count(name) || self_->tail_.scalars.count(name) || name == "time" || name == "step")
      throw InputError(fmt::format("{}: '{}' is already written in this step", path(), name));
  });
  self_->tail_.scalars[name] = value;
}

void Series::attribute(const std::string &name, const Attribute &value) {
  self_->comm_.agree([&] {
    self_->require_writing();
    check_name(name);
  });
  self_->attributes_[name] = value;
  self_->engine_->set_attributes(self_->attributes_);
}

void Series::end_step() { self_->end_step(); }

void Series::close() {
  if (self_->closed_)
    return;
  const Stopwatch watch(self_->counters_.finish_seconds);
  if (self_->open_step_)
    self_->engine_->abandon_step();
  self_->open_step_.reset();
  self_->closed_ = true;
  self_->engine_->close();
}

std::vector<VariableInfo> Series::variables(std::size_t step) const {
  self_->step(step);
  return self_->engine_->variables(step);
}

VariableInfo Series::variable(std::size_t step, const std::string &name) const {
  std::vector<std::string> names;
  for (auto &info : variables(step)) {
    if (info.name == name)
      return info;
    names.push_back(info.name);
  }
  const std::string near = nearest(name, names);
  throw InputError(fmt::format("{}: step {} has no grid variable '{}'{}", path(), self_->steps_[step].index, name,
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

Scalars Series::scalars(std::size_t step) const {
  self_->step(step);
  return self_->engine_->scalars(step);
}

void Series::read(std::size_t step, const std::string &name, Type type, const Box &box, void *data) const {
  auto &self = *self_;
  const Stopwatch watch(self.counters_.read_seconds);
  self.comm_.agree([&] {
    const VariableInfo info = variable(step, name);
    check_placement(name, {info.shape, box, box}, data);
    if (box.empty())
      return;
    if (type == info.type) {
      self.engine_->read(step, info, box, data);
    } else {
      std::vector<char> stored(static_cast<std::size_t>(box.size()) * size_of(info.type));
      self.engine_->read(step, info, box, stored.data());
      convert(info.type, stored.data(), type, data, box.size());
    }
    self.counters_.bytes_read += box.size() * static_cast<std::int64_t>(size_of(info.type));
  });
}

std::vector<std::string> Series::verify(std::size_t step) const { return self_->verify(step); }

std::vector<std::string> Series::unchecked(std::size_t step) const {
  std::vector<std::string> result;
  try {
    const json stored = self_->stored_checksums(step);
    for (const auto &variable : self_->engine_->variables(step))
      if (!stored.contains(variable.name))
        result.push_back(variable.name);
  } catch (const json::exception &) { // verify calls that damage
  }
  return result;
}

} // namespace tailrace::io
