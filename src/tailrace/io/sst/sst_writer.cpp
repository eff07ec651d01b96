// The writing end of a stream. Only rank 0 sends messages to readers without being asked (SST's CPCommPattern=Min); the
// other ranks answer requests for data, and wait for rank 0 inside MPI. Rank 0 decides what happens to a step before
// the step goes to ADIOS2, where it could not be taken back: so ADIOS2 seldom waits, and seldom leaves out a step.
// Some ranks alone may give the blocks of all to ADIOS2: readers then connect to fewer, and learn of fewer.

#include <tailrace/io/sst/sst_options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/output.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sst/control/coupling_json.hpp>
#include <tailrace/io/sst/network/contact_file.hpp>
#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/host_guard.hpp>
#include <tailrace/io/sst/network/our_adios2.hpp>
#include <tailrace/io/sst/network/stream_end.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>
#include <tailrace/io/sst/steps/held_steps.hpp>
#include <tailrace/io/sst/steps/step_admission.hpp>
#include <tailrace/io/sst/stream_notes.hpp>
#include <tailrace/support/watchdog.hpp>

#include <adios2.h>
#include <fmt/format.h>

#include <chrono>

namespace tailrace::io {

using nlohmann::json;

namespace {

class SstWriter final : public StepSink {
public:
  SstWriter(const OpenRequest &request, const SstOptions &options);
  ~SstWriter() override;

  std::vector<StepInfo> steps() const override { return {}; }
  bool takes_step(const StepInfo &step) override;
  void begin_step(const StepInfo &) override {} // takes_step has done it
  void write(const Block &block) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override { attributes_ = attributes; }
  void close() override;
  std::optional<GridDescription> grid() const override { return request_.grid; }
  Attributes attributes() const override { return {}; }
  std::vector<LeftOut> left_out() const override { return root() ? gate_->ledger().all() : std::vector<LeftOut>{}; }
  Coupling coupling() const override { return root() ? gate_->coupling() : Coupling{}; }

private:
  bool root() const { return request_.comm.rank() == 0; }
  template <class Work> void together(const char *what, Work work) const;
  template <class Work> void attempt(const char *what, Work work) const;
  template <class Work> void within_time(Work work);
  void open();
  void claim(const StreamEnd &writers, int listens_at) const;
  void rescue(int call);
  void await_reader();
  bool admit_reader();
  void let_in();
  template <class Decide> StepDecision agreed(Decide decide) const;
  void keep(const Block &block);
  void hold();
  void forget_held(const char *why);
  void hand_over();
  void begin();
  void give(const StreamStep &step);
  json describe_series(const StreamStep &step) const;

  OpenRequest request_;
  SstOptions options_;
  Aggregation aggregation_;
  Communicator givers_; ///< the ranks that use ADIOS2, rank 0 among them; in the others, those that do not
  ContactFile contact_;
  Attributes attributes_;
  StreamStep step_;
  HeldSteps held_;
  StreamNotes notes_;                   ///< rank 0's
  std::unique_ptr<StepAdmission> gate_; ///< in rank 0
  bool waited_ = false, begun_ = false, broken_ = false, open_ = false, holding_ = false;
  adios2::ADIOS adios_;
  adios2::IO io_;
  bp::Output output_;
  adios2::Engine engine_;
};

/// From so many ranks on, one of each node gives the blocks.
constexpr int many_ranks = 257;

Aggregators aggregators(const SstOptions &options, const Communicator &comm) {
  if (options.aggregators)
    return *options.aggregators;
  return {comm.size() < many_ranks ? Aggregators::Kind::all : Aggregators::Kind::node, 0};
}

/// Runs what may fail in a rank, and agrees on the outcome.
template <class Work> void SstWriter::together(const char *what, Work work) const {
  request_.comm.agree([&] {
    try {
      work();
    } catch (const std::exception &error) {
      throw IoError(fmt::format("cannot {} the stream {}: {}", what, request_.path, error.what()));
    }
  });
}

/// The same with calls of ADIOS2, in the ranks that use it, which do not wait for other ranks or return on all of them.
template <class Work> void SstWriter::attempt(const char *what, Work work) const {
  together(what, [&] {
    if (aggregation_.writes())
      work();
  });
}

/// Runs a call of ADIOS2 that waits for readers, which get `timeout` seconds.
template <class Work> void SstWriter::within_time(Work work) {
  request_.comm.barrier(); // so that a late rank takes no time from the readers
  const Watchdog watchdog(options_.timeout, [this](int call) { rescue(call); });
  work();
}

SstWriter::SstWriter(const OpenRequest &request, const SstOptions &options)
    : request_(request), options_(options), aggregation_(request.comm, aggregators(options, request.comm)),
      givers_(request.comm.split(aggregation_.writes() ? 0 : 1, request.comm.rank())), contact_(request.path),
      notes_(request), adios_(givers_.get()) {
  const StreamEnd writers = StreamEnd::gather(givers_);
  request.comm.agree([&] {
    if (!root())
      return;
    contact_.check_writable();
    writers.check_distinct(request.path);
    gate_ = std::make_unique<StepAdmission>(request, options);
    claim(writers, 0);
  });
  HostGuard::begin(options.timeout);
  HostGuard::allow(from_root(request.comm, known_networks(writers.addresses)));
  HostGuard::allow(options.hosts);
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("SST");
  io_.SetParameters(options.engine);
  output_ = bp::Output(io_, {});
  open();
  request.comm.agree([&] {
    if (root())
      claim(writers, adios2_port());
  });
}

void SstWriter::open() {
  await_same_time(request_.comm);
  attempt("open", [&] { engine_ = io_.Open(request_.path, adios2::Mode::Write); });
  open_ = true;
  if (!root())
    return;
  contact_.protect();
  gate_->opened(readers_of_last_stream());
  for (const std::string &note : {gate_->channel().problem(), adios2_note()})
    notes_.tell(note, false);
}

/// Tells readers our address, and which of them may connect to ADIOS2 without asking.
void SstWriter::claim(const StreamEnd &writers, int listens_at) const {
  ContactFile::Record record{sst_version, gate_->channel().port(), gate_->token(), {}, writers.addresses, {},
                             listens_at};
  if (const auto name = options_.engine.find("NetworkInterface"); name != options_.engine.end())
    record.listens = address_of_interface(name->second);
  record.addresses = own_addresses();
  if (record.listens.empty())
    record.listens = record.addresses.front();
  std::erase(record.addresses, record.listens);
  record.addresses.insert(record.addresses.begin(), record.listens);
  for (const Network &one : options_.hosts)
    record.hosts.push_back(text_of(one));
  contact_.claim(record);
}

SstWriter::~SstWriter() {
  if (root() && open_)
    contact_.release();
}

/// Drops a reader that does not take its data: makes ADIOS2 believe that it is dead.
void SstWriter::rescue(int call) {
  if (!aggregation_.writes())
    return;
  if (!root())
    return ReaderTable::rescue_elsewhere();
  if (gate_->rescue(call, step_.info.index))
    end_program(fmt::format("stream {}, step {}: ADIOS2 does not come back, though no reader is left", request_.path,
                            step_.info.index));
}

/// Waits, before the first step, until a reader has been admitted, for at most wait_for_reader seconds.
void SstWriter::await_reader() {
  waited_ = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.wait_for_reader);
  while (options_.wait_for_reader > 0) {
    const StepDecision what = agreed([&] { return gate_->await_reader(end); });
    if (what == StepDecision::let_in)
      let_in();
    else if (what == StepDecision::unread || admit_reader())
      return;
  }
}

/// Lets in, on all ranks, the readers that have shown the token.
void SstWriter::let_in() {
  const Span span(*request_.trace, Phase::wait);
  HostGuard::allow(from_root(request_.comm, root() ? gate_->channel().callers() : Networks{}));
  request_.comm.barrier(); // all have let them in
  if (root())
    gate_->welcome();
}

/// ADIOS2 admits readers at the end of a step, and they do not get that step: so we write an empty one, which nobody
/// gets. Returns whether a reader was admitted.
bool SstWriter::admit_reader() {
  const Span span(*request_.trace, Phase::wait);
  const std::int64_t before = root() ? gate_->ever_admitted() : 0;
  begin();
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
  return request_.comm.max(std::int64_t{root() && gate_->admitted_since(before)}) > 0;
}

/// The decision of rank 0, on all ranks; it may take long.
template <class Decide> StepDecision SstWriter::agreed(Decide decide) const {
  const Span span(*request_.trace, Phase::wait);
  return static_cast<StepDecision>(
      request_.comm.broadcast_patiently(static_cast<std::int64_t>(root() ? decide() : StepDecision::left_out), 0));
}

bool SstWriter::takes_step(const StepInfo &step) {
  if (broken_)
    throw IoError(fmt::format("the stream {} is out of use since an error; ADIOS2 cannot drop the step it was in",
                              request_.path));
  step_ = StreamStep{step, {}, {}};
  holding_ = false;
  if (!adios2_is_patched())
    limit_waits(options_.timeout);
  if (!waited_)
    await_reader();
  for (bool tried = false;;) {
    const StepDecision decision = agreed([&] { return gate_->decide(step_.info, tried, !held_.empty()); });
    if (root())
      notes_.tell(gate_->channel().problem());
    switch (decision) {
    case StepDecision::let_in:
      let_in();
      break;
    case StepDecision::admit:
      tried = true;
      admit_reader();
      break;
    case StepDecision::hand_over:
      hand_over();
      break;
    case StepDecision::held:
      hold();
      return true;
    case StepDecision::unread:
      forget_held("unread");
      return false;
    default:
      return decision == StepDecision::taken;
    }
  }
}

void SstWriter::hold() {
  while (static_cast<std::int64_t>(held_.size()) >= options_.queue) {
    if (root())
      gate_->ledger().left_out(held_.front().info, "dropped");
    held_.pop_front();
  }
  held_.emplace_back();
  holding_ = true;
}

void SstWriter::forget_held(const char *why) {
  for (const HeldStep &step : held_)
    if (root())
      gate_->ledger().left_out(step.info, why);
  held_.clear();
}

/// Gives the oldest held step to ADIOS2.
void SstWriter::hand_over() {
  const HeldStep step = std::move(held_.front());
  held_.pop_front();
  begin();
  {
    const Span span(*request_.trace, Phase::write);
    attempt("write to", [&] {
      for (const auto &piece : step.pieces)
        output_.put(engine_, piece.block);
    });
  }
  give(step);
}

/// A step of ADIOS2 begins with the first write, so that a step without a write can be abandoned.
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

void SstWriter::keep(const Block &block) {
  if (holding_)
    return held_.back().add(block);
  output_.put(engine_, block);
}

void SstWriter::write(const Block &block) {
  if (!holding_)
    begin();
  const Span span(*request_.trace, holding_ ? Phase::copy : Phase::write,
                  block.place.block.size() * static_cast<std::int64_t>(size_of(block.type)));
  together("write to", [&] {
    aggregation_.move(aggregation_.group(block), block, *request_.trace, false,
                      [&](int, const Box &, const Block &piece) { keep(piece); });
  });
}

json SstWriter::describe_series(const StreamStep &step) const {
  json about{{"version", sst_version},
             {"attributes", attributes_to_json(step.attributes)},
             {"steps", gate_->ledger().recent()}};
  if (request_.grid)
    about["grid"] = grid_to_json(*request_.grid);
  about["writer"] = to_json(gate_->own_side());
  return about;
}

/// Ends the step in ADIOS2.
void SstWriter::give(const StreamStep &step) {
  begin();
  attempt("write to", [&] {
    if (!root())
      return;
    gate_->ledger().give(step.info);
    output_.put_text(engine_, sst_series_name, valid_json_text(describe_series(step)), true);
    output_.end_step(engine_, step.info, step.metadata, true);
  });
  const Span span(*request_.trace, Phase::wait);
  within_time([&] { attempt("write to", [&] { engine_.EndStep(); }); });
  begun_ = false;
  if (root())
    gate_->note_given();
}

void SstWriter::end_step(const StepMetadata &metadata) {
  step_.metadata = metadata;
  step_.attributes = attributes_;
  if (!holding_)
    return give(step_);
  static_cast<StreamStep &>(held_.back()) = std::move(step_);
  step_.info = held_.back().info;
  holding_ = false;
  while (!held_.empty() && agreed([&] { return gate_->has_room() ? StepDecision::hand_over : StepDecision::held; }) ==
                               StepDecision::hand_over)
    hand_over();
}

void SstWriter::close() {
  if (!open_ || broken_)
    return;
  open_ = false;
  while (!held_.empty())
    agreed([&] { return gate_->wait_for_room(step_.info.index) ? StepDecision::hand_over : StepDecision::unread; }) ==
            StepDecision::hand_over
        ? hand_over()
        : forget_held("unread");
  agreed([&] { return gate_->wait_for_all(step_.info.index), StepDecision::taken; });
  within_time([&] { attempt("close", [&] { engine_.Close(); }); });
  if (root()) {
    gate_->end();
    contact_.release();
  }
}

} // namespace

std::unique_ptr<Engine> open_sst_writer(const OpenRequest &request, const SstOptions &options) {
  return std::make_unique<SstWriter>(request, options);
}

} // namespace tailrace::io

#endif
