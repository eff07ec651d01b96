#include <tailrace/io/sst/steps/step_admission.hpp>

#include <tailrace/support/process_identity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

namespace tailrace::io {

using Clock = std::chrono::steady_clock;

namespace {

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

} // namespace

StepAdmission::StepAdmission(const OpenRequest &request, const SstOptions &options)
    : trace_(*request.trace), options_(options), token_(new_token()), readers_(request.path, token_, options.timeout),
      budget_(options.share) {
  own_.ranks = request.comm.size();
  own_.host = this_process().host;
  own_.process = this_process().pid;
}

StepDecision StepAdmission::await_reader(std::chrono::time_point<Clock, std::chrono::duration<double>> end) {
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // a pause between two attempts to admit one, too
    readers_.channels().drain(0, ledger_.given());
    if (readers_.channels().any_callers())
      return StepDecision::let_in;
    if (readers_.any_pending() || readers_.any())
      return StepDecision::admit;
  }
  return StepDecision::unread;
}

void StepAdmission::welcome() {
  readers_.channels().welcome();
  if (readers_.any())
    return;
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (!readers_.any_pending() && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

StepDecision StepAdmission::decide(const StepInfo &step, bool tried, bool held) {
  const auto begin = Clock::now();
  readers_.meet(ledger_.given());
  if (readers_.channels().any_callers())
    return StepDecision::let_in;
  for (const auto &[after, before] : readers_.channels().take_gaps())
    ledger_.lost_between(after, before);
  if (Admission::visible() && !options_.keeps_unread && !readers_.any()) {
    if (!tried && readers_.any_pending())
      return StepDecision::admit;
    ledger_.left_out(step, "unread");
    return StepDecision::unread;
  }
  meter(begin);
  return decide_by_policy(step, held);
}

StepDecision StepAdmission::decide_by_policy(const StepInfo &step, bool held) {
  if (options_.policy == StreamPolicy::block)
    readers_.wait(most() - 1, ledger_.given(), step.index);
  const bool room = readers_.channels().behind(ledger_.given()) < most();
  if (options_.policy == StreamPolicy::drop_oldest)
    return !room ? StepDecision::held : held ? StepDecision::hand_over : StepDecision::taken;
  if (options_.policy == StreamPolicy::adapt) {
    if (room && budget_.affordable()) {
      metered_ = spent();
      return StepDecision::taken;
    }
    ledger_.left_out(step, "skipped");
    return StepDecision::left_out;
  }
  if (room)
    return StepDecision::taken;
  ledger_.left_out(step, "dropped");
  return StepDecision::left_out;
}

/// The number of steps that may be on their way. A step that waits here can still be left out, but not one that waits
/// in ADIOS2. So under drop_oldest ADIOS2 gets only as many as keep a reader busy.
std::int64_t StepAdmission::most() const {
  return options_.policy == StreamPolicy::drop_oldest ? std::min<std::int64_t>(options_.queue, 2) : options_.queue;
}

bool StepAdmission::has_room() {
  readers_.channels().drain(0, ledger_.given());
  return readers_.channels().behind(ledger_.given()) < most();
}

bool StepAdmission::wait_for_room(std::int64_t step) {
  readers_.wait(most() - 1, ledger_.given(), step);
  return readers_.any();
}

void StepAdmission::wait_for_all(std::int64_t step) { readers_.wait(0, ledger_.given(), step); }

void StepAdmission::note_given() {
  counted_ = ledger_.given();
  readers_.channels().note_given(counted_);
}

/// Measures what the coupling has cost since the first reader came.
void StepAdmission::meter(Clock::time_point begin) {
  if (!met_) {
    met_ = begin;
    met_spent_ = spent();
    met_waited_ = waited();
  }
  if (metered_)
    budget_.note_cost(spent() - *metered_);
  metered_.reset();
  budget_.update(seconds(*met_, Clock::now()), spent() - met_spent_);
}

/// Seconds that the simulation has spent in the series, in all phases.
double StepAdmission::spent() const {
  double sum = 0;
  for (std::size_t phase = 0; phase < phase_count; ++phase)
    sum += trace_.total(static_cast<Phase>(phase)).seconds;
  return sum;
}

void StepAdmission::end() {
  readers_.channels().end(ledger_.given());
  for (const auto &[after, before] : readers_.channels().take_gaps())
    ledger_.lost_between(after, before);
  ended_ = Clock::now();
}

CouplingSide StepAdmission::own_side() const {
  CouplingSide own = own_;
  own.steps = ledger_.given();
  own.state = ended_ ? "closed" : "open";
  if (!met_)
    return own;
  own.elapsed = seconds(*met_, ended_.value_or(Clock::now()));
  own.wait = waited() - met_waited_;
  own.transfer = std::max(0.0, spent() - met_spent_ - own.wait);
  own.compute = std::max(0.0, own.elapsed - own.wait - own.transfer);
  return own;
}

Coupling StepAdmission::coupling() const {
  Coupling result;
  result.role = Coupling::Role::writer;
  result.own = own_side();
  for (const auto &reader : readers_.channels().readers())
    result.others.push_back(reader.side);
  result.dropped = ledger_.count("dropped");
  result.skipped = ledger_.count("skipped");
  result.unread = ledger_.count("unread");
  return result;
}

} // namespace tailrace::io
