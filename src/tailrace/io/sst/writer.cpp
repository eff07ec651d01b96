// The writing end of a stream. Only rank 0 talks to readers of its own accord (SST's CPCommPattern=Min); the other
// ranks answer requests for data, and wait for rank 0 inside MPI. What becomes of a step, rank 0 decides before the
// step goes to ADIOS2, where nothing can be taken back: so ADIOS2 seldom waits, and seldom leaves out a step.

#include <tailrace/io/sst/options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/output.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sst/admission.hpp>
#include <tailrace/io/sst/contact_file.hpp>
#include <tailrace/io/sst/held_steps.hpp>
#include <tailrace/support/watchdog.hpp>

#include <adios2.h>
#include <fmt/format.h>

#include <chrono>

namespace tailrace::io {

using nlohmann::json;

namespace {

class SstWriter final : public StepSink {
public:
  SstWriter(const Target &target, const SstOptions &options);
  ~SstWriter() override;

  std::vector<StepInfo> steps() const override { return {}; }
  bool takes_step(const StepInfo &step) override;
  void begin_step(const StepInfo &) override {} // takes_step knows all of it
  void write(const Block &block) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override { attributes_ = attributes; }
  void close() override;
  std::optional<GridDescription> grid() const override { return target_.grid; }
  Attributes attributes() const override { return {}; }
  std::vector<LeftOut> left_out() const override { return root() ? gate_->records().all() : std::vector<LeftOut>{}; }
  Coupling coupling() const override { return root() ? gate_->coupling() : Coupling{}; }

private:
  bool root() const { return target_.comm.rank() == 0; }
  template <class Work> void attempt(const char *what, Work work) const;
  template <class Work> void within_time(Work work);
  void rescue(int call);
  void await_reader();
  bool admit_reader();
  template <class Decide> Fate agreed(Decide decide) const;
  void hold();
  void forget_held(const char *why);
  void hand_over();
  void begin();
  void give(const StreamStep &step);
  json describe_series(const StreamStep &step) const;

  Target target_;
  SstOptions options_;
  StreamContact contact_;
  Attributes attributes_;
  StreamStep step_;
  HeldSteps held_;
  std::unique_ptr<StreamGate> gate_; ///< in rank 0
  bool waited_ = false, begun_ = false, broken_ = false, open_ = false, holding_ = false;
  adios2::ADIOS adios_;
  adios2::IO io_;
  bp::Output output_;
  adios2::Engine engine_;
};

/// Runs calls of ADIOS2 that do not wait for other ranks, or end on all of them, and agrees on their outcome.
template <class Work> void SstWriter::attempt(const char *what, Work work) const {
  target_.comm.agree([&] {
    try {
      work();
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot {} the stream {}: {}", what, target_.path, error.what()));
    }
  });
}

/// Runs a call of ADIOS2 that waits for readers, who get `timeout` seconds.
template <class Work> void SstWriter::within_time(Work work) {
  target_.comm.barrier(); // a rank that comes late is no fault of the readers
  const Watchdog watchdog(options_.timeout, [this](int call) { rescue(call); });
  work();
}

SstWriter::SstWriter(const Target &target, const SstOptions &options)
    : target_(target), options_(options), contact_(target.path), adios_(target.comm.get()) {
  target.comm.agree([&] {
    if (!root())
      return;
    contact_.check_writable();
    gate_ = std::make_unique<StreamGate>(target, options);
    contact_.claim(gate_->port(), gate_->token());
  });
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("SST");
  io_.SetParameters(options.engine);
  output_ = bp::Output(io_, {});
  const std::set<int> before = listening_ports();
  attempt("open", [&] { engine_ = io_.Open(target_.path, adios2::Mode::Write); });
  open_ = true;
  std::set<int> ports = listening_ports();
  std::erase_if(ports, [&](int port) { return before.count(port) > 0; });
  StreamReaders::add_ports(ports);
}

SstWriter::~SstWriter() {
  if (root() && open_)
    contact_.release();
}

/// A reader takes nothing: to ADIOS2 it shall have died, and be dropped.
void SstWriter::rescue(int call) {
  if (!root())
    return StreamReaders::rescue_elsewhere();
  if (gate_->rescue(call, step_.info.index))
    end_program(fmt::format("stream {}, step {}: ADIOS2 does not come back, though no reader is left", target_.path,
                            step_.info.index));
}

/// Before the first step: until a reader has been admitted, or wait_for_reader seconds long.
void SstWriter::await_reader() {
  waited_ = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.wait_for_reader);
  while (options_.wait_for_reader > 0) {
    const Fate what = agreed([&] { return gate_->somebody_until(end) ? Fate::admit : Fate::unread; });
    if (what == Fate::unread || admit_reader())
      return;
  }
}

/// ADIOS2 admits readers at the end of a step, which they do not get: so we give an empty one, which nobody gets.
/// Whether somebody was admitted shows by the answer that rank 0 sent.
bool SstWriter::admit_reader() {
  const Span span(*target_.trace, Phase::wait);
  const std::uint64_t before = StreamReaders::sent();
  begin();
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
  return target_.comm.max(std::int64_t{root() && StreamReaders::admitted(before)}) > 0;
}

/// What rank 0 decides, which may take its time.
template <class Decide> Fate SstWriter::agreed(Decide decide) const {
  const Span span(*target_.trace, Phase::wait);
  return static_cast<Fate>(
      target_.comm.broadcast_patiently(static_cast<std::int64_t>(root() ? decide() : Fate::left_out), 0));
}

bool SstWriter::takes_step(const StepInfo &step) {
  if (broken_)
    throw IoError(
        fmt::format("the stream {} is out of use since an error; ADIOS2 cannot drop the step it was in", target_.path));
  step_ = StreamStep{step, {}, {}};
  holding_ = false;
  if (!waited_)
    await_reader();
  for (bool tried = false;;) {
    switch (const Fate fate = agreed([&] { return gate_->decide(step_.info, tried, !held_.empty()); })) {
    case Fate::admit:
      tried = true;
      admit_reader();
      break;
    case Fate::hand_over:
      hand_over();
      break;
    case Fate::held:
      hold();
      return true;
    case Fate::unread:
      forget_held("unread");
      return false;
    default:
      return fate == Fate::taken;
    }
  }
}

void SstWriter::hold() {
  while (static_cast<std::int64_t>(held_.size()) >= options_.queue) {
    if (root())
      gate_->records().left_out(held_.front().info, "dropped");
    held_.pop_front();
  }
  held_.emplace_back();
  holding_ = true;
}

void SstWriter::forget_held(const char *why) {
  for (const HeldStep &step : held_)
    if (root())
      gate_->records().left_out(step.info, why);
  held_.clear();
}

/// The oldest of the steps that are held.
void SstWriter::hand_over() {
  const HeldStep step = std::move(held_.front());
  held_.pop_front();
  begin();
  {
    const Span span(*target_.trace, Phase::write);
    attempt("write to", [&] {
      for (const auto &piece : step.pieces)
        output_.put(engine_, piece.block);
    });
  }
  give(step);
}

/// ADIOS2's step begins with the first thing in it, so that one without anything can be given up.
void SstWriter::begin() {
  if (begun_)
    return;
  begun_ = true;
  output_.begin_step();
  attempt("write to", [&] { engine_.BeginStep(); });
}

void SstWriter::abandon_step() noexcept {
  broken_ = broken_ || begun_;
  if (holding_)
    held_.pop_back();
  holding_ = false;
}

void SstWriter::write(const Block &block) {
  if (!holding_)
    begin();
  const Span span(*target_.trace, holding_ ? Phase::copy : Phase::write,
                  block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
  attempt("write to", [&] {
    if (holding_)
      return held_.back().add(block);
    output_.put(engine_, block);
  });
}

json SstWriter::describe_series(const StreamStep &step) const {
  json about{{"version", sst_version},
             {"attributes", attributes_to_json(step.attributes)},
             {"steps", gate_->records().recent()}};
  if (target_.grid)
    about["grid"] = grid_to_json(*target_.grid);
  about["writer"] = to_json(gate_->own_side());
  return about;
}

/// Ends the step in ADIOS2.
void SstWriter::give(const StreamStep &step) {
  begin();
  attempt("write to", [&] {
    if (!root())
      return;
    gate_->records().give(step.info);
    output_.put_text(engine_, sst_series_name, describe_series(step).dump(), true);
    output_.end_step(engine_, step.info, step.tail, true);
  });
  const Span span(*target_.trace, Phase::wait);
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
  if (root())
    gate_->given();
}

void SstWriter::end_step(const StepTail &tail) {
  step_.tail = tail;
  step_.attributes = attributes_;
  if (!holding_)
    return give(step_);
  static_cast<StreamStep &>(held_.back()) = std::move(step_);
  step_.info = held_.back().info;
  holding_ = false;
  while (!held_.empty() && agreed([&] { return gate_->has_room() ? Fate::hand_over : Fate::held; }) == Fate::hand_over)
    hand_over();
}

void SstWriter::close() {
  if (!open_ || broken_)
    return;
  open_ = false;
  while (!held_.empty())
    agreed([&] { return gate_->wait_for_room(step_.info.index) ? Fate::hand_over : Fate::unread; }) == Fate::hand_over
        ? hand_over()
        : forget_held("unread");
  agreed([&] { return gate_->wait_for_all(step_.info.index), Fate::taken; });
  within_time([&] { attempt("close", [&] { engine_.Close(); }); });
  if (root()) {
    gate_->end();
    contact_.release();
  }
}

} // namespace

std::unique_ptr<Engine> open_sst_writer(const Target &target, const SstOptions &options) {
  return std::make_unique<SstWriter>(target, options);
}

} // namespace tailrace::io

#endif
