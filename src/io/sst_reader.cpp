// The reading end of a stream, ours or another program's. ADIOS2 admits a reader at the end of a step only, and opening
// waits for that: so it is left to the first next_step, and falls under its time limit.

#include <tailrace/io/sst_options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/attributes_json.hpp>
#include <tailrace/io/bp_contents.hpp>
#include <tailrace/io/coupling_channel.hpp>
#include <tailrace/io/deadline.hpp>
#include <tailrace/io/reader_clock.hpp>
#include <tailrace/io/sst_contact.hpp>
#include <tailrace/io/sst_records.hpp>
#include <tailrace/io/sst_sockets.hpp>

#include <adios2.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tailrace::io {

using nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_until(Clock::time_point end) { return std::chrono::duration<double>(end - Clock::now()).count(); }

class SstReader final : public Engine {
public:
  SstReader(const Target &target, const SstOptions &options);
  ~SstReader() override;

  bool streaming() const override { return true; }
  std::vector<StepInfo> steps() const override { return steps_; }
  bool next_step(double timeout) override;
  std::optional<GridDescription> grid() const override { return grid_; }
  Attributes attributes() const override { return attributes_; }
  std::vector<VariableInfo> variables(std::size_t step) const override { return current(step), variables_; }
  Scalars scalars(std::size_t step) const override { return current(step), scalars_; }
  std::string checksums(std::size_t step) const override { return current(step), checksums_; }
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;
  void close() override;
  std::vector<std::int64_t> missed(std::size_t step) const override { return current(step), missed_.since().list(); }
  Coupling coupling() const override;

  // Only a series that was opened to write asks for these.
  void begin_step(const StepInfo &) override {}
  void write(const Block &) override {}
  void end_step(const StepTail &) override {}
  void abandon_step() noexcept override {}
  void set_attributes(const Attributes &) override {}

private:
  bool root() const { return target_.comm.rank() == 0; }
  void current(std::size_t step) const;
  void await_writer(Clock::time_point end, double timeout) const;
  bool try_open(double timeout);
  void open(double timeout);
  void call_writer();
  void meet_writer();
  void leave_step();
  std::string lost(const std::string &what) const;
  void leave();
  void cut_writer(bool alone) const;
  void take_step();
  void take_series(const std::string &text);
  void take_lists(const std::string &text);
  std::string other_version(int version) const;
  template <class T> std::optional<T> value(const std::string &name) const;
  template <class T> void take_variable(const std::string &name);
  std::string text(const char *name) const { return value<std::string>(name).value_or(""); }

  Target target_;
  SstOptions options_;
  StreamContact contact_;
  std::set<std::uint64_t> foreign_sockets_; ///< that were there before ADIOS2's
  std::vector<StepInfo> steps_;
  bool in_step_ = false, ended_ = false, closed_ = false;
  mutable std::string failure_; ///< why there can be no more steps
  Attributes attributes_;
  std::optional<GridDescription> grid_;
  std::vector<VariableInfo> variables_; ///< of the current step, as the next two
  Scalars scalars_;
  std::string checksums_;
  MissedSteps missed_;
  bool numbered_ = false;         ///< the current step is one of our writer's
  mutable ReaderClock clock_;     ///< reading is time too
  mutable WriterChannel channel_; ///< rank 0's
  std::string token_;
  std::optional<CouplingSide> writer_;
  adios2::ADIOS adios_;
  mutable adios2::IO io_; // ADIOS2 sets selections on the variables themselves
  mutable adios2::Engine engine_;
};

SstReader::SstReader(const Target &target, const SstOptions &options)
    : target_(target), options_(options), contact_(target.path), adios_(target.comm.get()) {
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.open_timeout));
  target.comm.agree([&] { await_writer(end, options.open_timeout); });
  target.comm.barrier();
  for (const auto &one : tcp_connections())
    foreign_sockets_.insert(one.inode);
}

/// What was not closed, above all because the writer was lost, stays until the program ends: ADIOS2's own thread may be
/// at work on its connections, and would find it gone.
SstReader::~SstReader() {
  static auto &left_open = *new std::vector<adios2::ADIOS>; // never destroyed
  if (engine_ && !closed_)
    left_open.push_back(std::move(adios_));
}

std::string SstReader::lost(const std::string &what) const {
  if (channel_.dropped())
    return fmt::format("cannot read {}: the connection is lost: the writer has dropped this reader, which had taken "
                       "nothing for as long as its `timeout` says",
                       what);
  return fmt::format(
      "cannot read {}: the connection is lost: the writer died, or dropped this reader because it was too "
      "slow (the writer's `timeout`)",
      what);
}

/// In rank 0: until there is a contact file of a writer that lives.
void SstReader::await_writer(Clock::time_point end, double timeout) const {
  if (!root())
    return;
  while (!contact_.alive()) {
    if (seconds_until(end) <= 0)
      throw IoError(
          fmt::format("cannot read the stream {}: waited {:g} s, and {}. To fix this, start the writer, or wait "
                      "longer (OpenTimeoutSecs)",
                      target_.path, timeout, contact_.why_not()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (const auto record = contact_.record(); record && record->version != 0 && record->version != sst_version)
    throw IoError(other_version(record->version));
}

std::string SstReader::other_version(int version) const {
  return fmt::format("cannot read the stream {}: its steps are of version {}, and this Tailrace knows {}. To fix this, "
                     "use the same Tailrace on both sides",
                     target_.path, version, sst_version);
}

/// In rank 0: tries to reach the writer's control channel.
void SstReader::call_writer() {
  if (const auto record = contact_.record(); root() && record) {
    channel_.connect(record->addresses, record->port);
    token_ = record->token;
  }
}

/// In rank 0, when ADIOS2 has been admitted: says who we are.
void SstReader::meet_writer() {
  std::set<int> ports;
  for (const auto &one : tcp_connections())
    if (foreign_sockets_.count(one.inode) == 0)
      ports.insert(one.local_port);
  channel_.hello(token_, target_.comm.size(), ports);
}

/// The writer does not answer: to ADIOS2 it shall have died. Where ranks other than the one that waits are inside
/// ADIOS2 too (`alone` is false), it would leave them there for ever, and only the end of the program helps.
void SstReader::cut_writer(bool alone) const {
  if (!alone) {
    fmt::print(stderr, "tailrace: cannot read the stream {}: the writer does not answer; ending\n", target_.path);
    std::fflush(nullptr);
    std::_Exit(1);
  }
  for (const auto &one : tcp_connections())
    if (foreign_sockets_.count(one.inode) == 0)
      cut(one);
}

/// Whether the writer has admitted us. It has not when nobody listens at the address of the contact file, and when time
/// is up.
bool SstReader::try_open(double timeout) {
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("SST");
  std::map<std::string, std::string> parameters = options_.engine;
  parameters.insert_or_assign("OpenTimeoutSecs", std::to_string(1)); // the file is there
  io_.SetParameters(parameters);
  bool opened = false;
  target_.comm.barrier();
  {
    const Deadline deadline(std::max(timeout, 0.0), [&](int) {
      if (root())
        cut_writer(target_.comm.size() == 1);
    });
    try {
      engine_ = io_.Open(target_.path, adios2::Mode::Read);
      opened = true;
    } catch (const std::exception &) { // several lines of ADIOS2's insides, and never why
    }
  }
  if (!opened)
    adios_.RemoveIO("series");
  return target_.comm.max(std::int64_t{!opened}) == 0;
}

void SstReader::open(double timeout) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  while (true) {
    const double patience = std::min(seconds_until(end), options_.open_timeout); // the writer may have ended meanwhile
    const auto found_by =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience));
    target_.comm.agree([&] { await_writer(found_by, std::max(patience, 0.0)); });
    call_writer();
    if (try_open(seconds_until(end))) {
      if (root())
        meet_writer();
      clock_.begin();
      return;
    }
    target_.comm.agree([&] {
      if (root() && seconds_until(end) <= 0)
        throw IoError(fmt::format("cannot read the stream {}: no step came in {:g} s, and {}", target_.path, timeout,
                                  contact_.alive() ? "the writer has not ended one since we are waiting, or has died"
                                                   : contact_.why_not()));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // a new writer may be about to replace the file
  }
}

/// Releases the current step, and says so.
void SstReader::leave_step() {
  clock_.ask();
  if (in_step_) {
    engine_.EndStep();
    const CouplingSide &took = clock_.step();
    if (root() && numbered_)
      channel_.done(missed_.number(), missed_.before(), took.compute, took.wait, took.transfer);
  }
  in_step_ = false;
  variables_.clear();
  scalars_.clear();
  checksums_.clear();
}

bool SstReader::next_step(double timeout) {
  if (timeout < 0)
    timeout = options_.timeout;
  target_.comm.agree([&] {
    if (!failure_.empty())
      throw IoError(failure_);
  });
  if (ended_)
    return false;
  auto status = adios2::StepStatus::OtherError;
  const auto begin = Clock::now();
  if (!engine_)
    open(timeout);
  target_.comm.agree([&] {
    try {
      leave_step();
      const std::chrono::duration<double> spent = Clock::now() - begin;
      status = engine_.BeginStep(adios2::StepMode::Read, static_cast<float>(std::max(timeout - spent.count(), 0.0)));
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot read the stream {}: {}", target_.path, error.what()));
    }
  });
  // What rank 0 was told, ADIOS2 passes on; were one rank told otherwise all the same, the worst counts for all.
  status = static_cast<adios2::StepStatus>(target_.comm.max(static_cast<std::int64_t>(status)));
  if (status == adios2::StepStatus::EndOfStream) {
    ended_ = true;
    leave();
    return false;
  }
  if (status == adios2::StepStatus::NotReady)
    throw IoError(fmt::format("cannot read the stream {}: no step came in {:g} s", target_.path, timeout));
  if (status != adios2::StepStatus::OK) {
    failure_ = lost("the stream " + target_.path);
    throw IoError(failure_);
  }
  in_step_ = true;
  clock_.got();
  target_.comm.agree([&] { take_step(); });
  return true;
}

template <class T> std::optional<T> SstReader::value(const std::string &name) const {
  auto variable = io_.InquireVariable<T>(name);
  if (!variable || !variable.Shape().empty())
    return std::nullopt;
  T result{};
  engine_.Get(variable, result, adios2::Mode::Sync);
  return result;
}

template <class T> void SstReader::take_variable(const std::string &name) {
  const auto variable = io_.InquireVariable<T>(name);
  const adios2::Dims shape = variable ? variable.Shape() : adios2::Dims{};
  const auto n = [&](std::size_t d) { return static_cast<std::int64_t>(shape[d]); };
  if (shape.size() == 3) {
    variables_.push_back({name, TypeOf<T>::value, {n(2), n(1), n(0)}});
  } else if (const auto number = shape.empty() ? value<T>(name) : std::nullopt) {
    if constexpr (std::is_integral_v<T>)
      scalars_[name] = std::int64_t{*number};
    else
      scalars_[name] = double{*number};
  }
}

void SstReader::take_series(const std::string &text) {
  numbered_ = !text.empty();
  if (text.empty())
    return; // another program's
  const json about = json::parse(text);
  if (const int version = about.at("version"); version != sst_version)
    throw IoError(other_version(version));
  attributes_ = attributes_from_json(about.at("attributes"));
  grid_.reset();
  if (about.contains("grid"))
    grid_ = GridDescription{about["grid"].at("points"), about["grid"].at("origin"), about["grid"].at("spacing")};
  missed_.take(about.at("steps"));
  writer_ = side_from_json(about.at("writer"));
}

void SstReader::take_lists(const std::string &text) {
  if (text.empty())
    return;
  const json lists = json::parse(text); // outlives the loop's iterator
  for (const auto &[name, list] : lists.items()) {
    std::erase_if(variables_, [&, &name = name](const auto &info) { return info.name == name; });
    variables_.push_back({name, type_named(list.at("type")), {list.at("columns"), list.at("rows"), 1}, true});
  }
}

/// Learns what the step holds; nothing of it waits for other ranks.
void SstReader::take_step() {
  try {
    for (const auto &[name, about] : io_.AvailableVariables(true)) {
      const std::string type = io_.VariableType(name);
      if (name.rfind("tailrace/", 0) == 0)
        continue;
      if (type == "string")
        scalars_[name] = text(name.c_str());
      else if (type == "double")
        take_variable<double>(name);
      else if (type == "float")
        take_variable<float>(name);
      else if (type == "int64_t")
        take_variable<std::int64_t>(name);
      else if (type == "int32_t")
        take_variable<std::int32_t>(name);
    }
    const std::string series = text(sst_series_name);
    take_series(series);
    take_lists(text(sst_lists_name));
    checksums_ = text(sst_checksums_name);
    StepInfo step{steps_.empty() ? 0 : steps_.back().index + 1, 0};
    if (const auto index = scalars_.find("step"); !series.empty() && index != scalars_.end())
      step.index = std::get<std::int64_t>(index->second);
    step.time = static_cast<double>(step.index);
    if (const auto time = scalars_.find("time"); time != scalars_.end())
      if (const auto *number = std::get_if<double>(&time->second))
        step.time = *number;
    scalars_.erase("time");
    scalars_.erase("step");
    steps_.push_back(step);
  } catch (const Error &) {
    throw;
  } catch (const std::exception &error) {
    throw IoError(fmt::format("cannot read a step of the stream {}: {}", target_.path, error.what()));
  }
  std::sort(variables_.begin(), variables_.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
}

void SstReader::current(std::size_t step) const {
  if (!in_step_ || step + 1 != steps_.size())
    throw InputError(fmt::format("{}: of a stream only the current step can be read{}", target_.path,
                                 in_step_ ? fmt::format(", step {}", steps_.back().index) : ", and there is none"));
}

void SstReader::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  current(step);
  const Span span(*target_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const auto begin = Clock::now();
  bool late = false;
  const auto expire = [&](int) {
    late = true;
    cut_writer(true);
  };
  try {
    const Deadline deadline(options_.timeout, expire);
    with_type(variable.type, [&]<class T>(T) {
      auto stored = io_.InquireVariable<T>(variable.name);
      stored.SetSelection({bp::dims(box.start), bp::dims(box.count)});
      engine_.Get(stored, static_cast<T *>(data), adios2::Mode::Sync);
    });
    clock_.moved(std::chrono::duration<double>(Clock::now() - begin).count());
  } catch (const std::exception &) { // ADIOS2 says that the writer failed, in several lines
    const std::string what = fmt::format("{} of the stream {}", variable.name, target_.path);
    failure_ =
        late ? fmt::format("cannot read {}: the writer did not answer for {:g} s", what, options_.timeout) : lost(what);
    throw IoError(failure_);
  }
}

void SstReader::leave() {
  target_.comm.agree([&] {
    try {
      leave_step();
      channel_.leave();
      engine_.Close();
      closed_ = true;
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot close the stream {}: {}", target_.path, error.what()));
    }
  });
}

void SstReader::close() {
  const bool nothing_to_leave = !engine_ || ended_ || !failure_.empty();
  if (target_.comm.max(std::int64_t{nothing_to_leave}) == 0)
    leave();
}

Coupling SstReader::coupling() const {
  Coupling result;
  if (!root())
    return result;
  result.role = Coupling::Role::reader;
  result.own = clock_.total();
  result.own.ranks = target_.comm.size();
  result.own.steps = static_cast<std::int64_t>(steps_.size());
  result.own.state = ended_ ? "closed" : failure_.empty() ? "open" : "lost";
  result.own.host = own_host();
  result.own.process = own_process();
  result.dropped = missed_.all();
  if (writer_)
    result.others.push_back(*writer_);
  return result;
}

} // namespace

std::unique_ptr<Engine> open_sst_reader(const Target &target, const SstOptions &options) {
  return std::make_unique<SstReader>(target, options);
}

} // namespace tailrace::io

#endif
