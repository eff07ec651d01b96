// The reading end of a stream, whose writer may be ours or another program. ADIOS2 admits a reader only at the end of a
// step, and its Open waits for that: so the first next_step opens the stream, within its time limit.

#include <tailrace/io/sst/sst_options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sst/connection.hpp>
#include <tailrace/io/sst/control/coupling_json.hpp>
#include <tailrace/io/sst/control/reader_clock.hpp>
#include <tailrace/io/sst/network/our_adios2.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>
#include <tailrace/io/sst/steps/missed_steps.hpp>
#include <tailrace/support/process_identity.hpp>
#include <tailrace/support/watchdog.hpp>

#include <adios2.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace tailrace::io {

using nlohmann::json;

namespace {

using Clock = SstConnection::Clock;

class SstReader final : public StreamSource {
public:
  SstReader(const OpenRequest &request, const SstOptions &options)
      : request_(request), options_(options), connection_(request, options) {}

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

private:
  bool root() const { return request_.comm.rank() == 0; }
  void current(std::size_t step) const;
  adios2::StepStatus advance(double timeout);
  void leave_step();
  void leave();
  void take_step();
  void take_variables();
  StepInfo take_step_info();
  void take_series(const std::string &text);
  void take_lists(const std::string &text);
  template <class T> std::optional<T> value(const std::string &name) const;
  template <class T> void take_variable(const std::string &name);
  std::string text(const std::string &name) const { return value<std::string>(name).value_or(""); }

  OpenRequest request_;
  SstOptions options_;
  mutable SstConnection connection_; // reading sets selections on the variables of ADIOS2
  std::vector<StepInfo> steps_;
  bool in_step_ = false, ended_ = false;
  mutable std::string failure_; ///< why there can be no more steps
  Attributes attributes_;
  std::optional<GridDescription> grid_;
  std::vector<VariableInfo> variables_; ///< of the current step, like the next two
  Scalars scalars_;
  std::string checksums_;
  MissedSteps missed_;
  bool numbered_ = false;     ///< the current step is one of our writer's
  mutable ReaderClock clock_; ///< it counts the time of read, too
  std::optional<CouplingSide> writer_;
};

/// Releases the current step, and tells the writer.
void SstReader::leave_step() {
  clock_.ask();
  if (in_step_) {
    connection_.engine().EndStep();
    const CouplingSide &took = clock_.step();
    if (root() && numbered_)
      connection_.channel().done(missed_.number(), missed_.before(), took.compute, took.wait, took.transfer);
  }
  in_step_ = false;
  variables_.clear();
  scalars_.clear();
  checksums_.clear();
}

/// Leaves the current step and waits for the next one.
adios2::StepStatus SstReader::advance(double timeout) {
  auto status = adios2::StepStatus::OtherError;
  const auto begin = Clock::now();
  if (!connection_.is_open()) {
    connection_.open(timeout);
    clock_.begin();
  }
  if (!adios2_is_patched())
    limit_waits(options_.timeout);
  request_.comm.agree([&] {
    try {
      leave_step();
      const std::chrono::duration<double> spent = Clock::now() - begin;
      status = connection_.engine().BeginStep(adios2::StepMode::Read,
                                              static_cast<float>(std::max(timeout - spent.count(), 0.0)));
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot read the stream {}: {}", request_.path, error.what()));
    }
  });
  // ADIOS2 tells all ranks what it told rank 0. Should the ranks differ nevertheless, the worst counts for all.
  return static_cast<adios2::StepStatus>(request_.comm.max(static_cast<std::int64_t>(status)));
}

bool SstReader::next_step(double timeout) {
  if (timeout < 0)
    timeout = options_.timeout;
  request_.comm.agree([&] {
    if (!failure_.empty())
      throw IoError(failure_);
  });
  if (ended_)
    return false;
  const auto status = advance(timeout);
  if (status == adios2::StepStatus::EndOfStream) {
    ended_ = true;
    leave();
    return false;
  }
  if (status == adios2::StepStatus::NotReady)
    throw IoError(fmt::format("cannot read the stream {}: no step came in {:g} s", request_.path, timeout));
  if (status != adios2::StepStatus::OK) {
    failure_ = connection_.lost("the stream " + request_.path);
    throw IoError(failure_);
  }
  in_step_ = true;
  clock_.got();
  request_.comm.agree([&] { take_step(); });
  return true;
}

template <class T> std::optional<T> SstReader::value(const std::string &name) const {
  auto variable = connection_.io().InquireVariable<T>(name);
  if (!variable || !variable.Shape().empty())
    return std::nullopt;
  T result{};
  connection_.engine().Get(variable, result, adios2::Mode::Sync);
  return result;
}

template <class T> void SstReader::take_variable(const std::string &name) {
  const auto variable = connection_.io().InquireVariable<T>(name);
  const adios2::Dims shape = variable ? variable.Shape() : adios2::Dims{};
  const auto n = [&](std::size_t d) { return static_cast<std::int64_t>(shape[d]); };
  if (shape.size() == 3) {
    variables_.push_back({name, type_of<T>(), {n(2), n(1), n(0)}});
  } else if (const auto number = shape.empty() ? value<T>(name) : std::nullopt) {
    if constexpr (bp::is_whole<T>)
      scalars_[name] = std::int64_t{*number};
    else if constexpr (std::is_floating_point_v<T>)
      scalars_[name] = double{*number};
  }
}

void SstReader::take_series(const std::string &text) {
  numbered_ = !text.empty();
  if (text.empty())
    return; // the writer is another program
  const json about = parse_json(text);
  if (const std::int64_t version = whole_number(about.at("version")); version != sst_version)
    throw IoError(connection_.other_version(version));
  attributes_ = attributes_from_json(about.at("attributes"));
  grid_.reset();
  if (about.contains("grid"))
    grid_ = grid_from_json(about["grid"]);
  missed_.take(about.at("steps"));
  writer_ = side_from_json(about.at("writer"));
}

void SstReader::take_lists(const std::string &text) {
  if (text.empty())
    return;
  for (const VariableInfo &list : lists_from_json(parse_json(text))) {
    std::erase_if(variables_, [&](const auto &info) { return info.name == list.name; });
    variables_.push_back(list);
  }
}

void SstReader::take_variables() {
  for (const auto &[name, about] : connection_.io().AvailableVariables(true)) {
    const std::string type = connection_.io().VariableType(name);
    if (name.rfind("tailrace/", 0) == 0)
      continue;
    if (type == "string")
      scalars_[name] = text(name);
    else if (const auto known = bp::type_of(type))
      bp::with_type(*known, [&, &name = name]<class T>(T) { take_variable<T>(name); });
  }
}

/// Index and time, which the writer sends as scalars. Other programs may send a time, but no index.
StepInfo SstReader::take_step_info() {
  StepInfo step{steps_.empty() ? 0 : steps_.back().index + 1, 0};
  if (const auto index = scalars_.find("step"); numbered_ && index != scalars_.end())
    step.index = std::get<std::int64_t>(index->second);
  step.time = static_cast<double>(step.index);
  if (const auto time = scalars_.find("time"); time != scalars_.end())
    if (const auto *number = std::get_if<double>(&time->second))
      step.time = *number;
  scalars_.erase("time");
  scalars_.erase("step");
  return step;
}

/// Reads the contents of the step. Does not wait for other ranks.
void SstReader::take_step() {
  try {
    take_variables();
    take_series(text(sst_series_name));
    take_lists(text(bp::lists_name));
    checksums_ = text(bp::checksums_name);
    steps_.push_back(take_step_info());
  } catch (const Error &) {
    throw;
  } catch (const std::exception &error) {
    throw IoError(fmt::format("cannot read a step of the stream {}: {}", request_.path, error.what()));
  }
  std::sort(variables_.begin(), variables_.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
}

void SstReader::current(std::size_t step) const {
  if (!in_step_ || step + 1 != steps_.size())
    throw InputError(fmt::format("{}: of a stream only the current step can be read{}", request_.path,
                                 in_step_ ? fmt::format(", step {}", steps_.back().index) : ", and there is none"));
}

void SstReader::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  current(step);
  if (!failure_.empty()) // ADIOS2 would also fill the array of the read that failed, which may be gone
    throw IoError(failure_);
  const Span span(*request_.trace, Phase::read, box.size() * static_cast<std::int64_t>(size_of(variable.type)));
  const auto begin = Clock::now();
  bool late = false;
  const auto expire = [&](int) {
    late = true;
    connection_.cut_writer(true);
  };
  try {
    const Watchdog watchdog(options_.timeout, expire);
    bp::with_type(variable.type, [&]<class T>(T) {
      auto stored = connection_.io().InquireVariable<T>(variable.name);
      stored.SetSelection({bp::dims(box.start), bp::dims(box.count)});
      connection_.engine().Get(stored, static_cast<T *>(data), adios2::Mode::Sync);
    });
    clock_.moved(std::chrono::duration<double>(Clock::now() - begin).count());
  } catch (const std::exception &) { // ADIOS2's message only says that the writer failed
    const std::string what = fmt::format("{} of the stream {}", variable.name, request_.path);
    failure_ = late ? fmt::format("cannot read {}: the writer did not answer for {:g} s", what, options_.timeout)
                    : connection_.lost(what);
    throw IoError(failure_);
  }
}

void SstReader::leave() {
  request_.comm.agree([&] {
    try {
      leave_step();
      connection_.close();
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot close the stream {}: {}", request_.path, error.what()));
    }
  });
}

void SstReader::close() {
  const bool nothing_to_leave = !connection_.is_open() || ended_ || !failure_.empty();
  if (request_.comm.max(std::int64_t{nothing_to_leave}) == 0)
    leave();
}

Coupling SstReader::coupling() const {
  Coupling result;
  if (!root())
    return result;
  result.role = Coupling::Role::reader;
  result.own = clock_.total();
  result.own.ranks = request_.comm.size();
  result.own.steps = static_cast<std::int64_t>(steps_.size());
  result.own.state = ended_ ? "closed" : failure_.empty() ? "open" : "lost";
  result.own.host = this_process().host;
  result.own.process = this_process().pid;
  result.dropped = missed_.all();
  if (writer_)
    result.others.push_back(*writer_);
  return result;
}

} // namespace

std::unique_ptr<Engine> open_sst_reader(const OpenRequest &request, const SstOptions &options) {
  return std::make_unique<SstReader>(request, options);
}

} // namespace tailrace::io

#endif
