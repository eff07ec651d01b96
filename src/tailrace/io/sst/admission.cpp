#include <tailrace/io/sst/admission.hpp>

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

StreamGate::StreamGate(const Target &target, const SstOptions &options)
    : trace_(*target.trace), options_(options), token_(new_token()), readers_(target.path, token_, options.timeout),
      budget_(options.share) {
  own_.ranks = target.comm.size();
  own_.host = own_host();
  own_.process = own_process();
  if (const std::string &problem = readers_.channels().problem(); !problem.empty())
    target.notes->push_back(fmt::format(
        "no control channel ({}): readers count as those of other programs, and say nothing of their time", problem));
}

bool StreamGate::somebody_until(std::chrono::time_point<Clock, std::chrono::duration<double>> end) const {
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // also between two attempts to admit one
    if (readers_.knocking() || readers_.there())
      return true;
  }
  return false;
}

Fate StreamGate::decide(const StepInfo &step, bool tried, bool held) {
  const auto begin = Clock::now();
  readers_.meet(records_.given());
  for (const auto &[after, before] : readers_.channels().take_gaps())
    records_.lost_between(after, before);
  if (StreamReaders::visible() && !options_.keeps_unread && !readers_.there()) {
    if (!tried && readers_.knocking())
      return Fate::admit;
    records_.left_out(step, "unread");
    return Fate::unread;
  }
  meter(begin);
  return decide_by_policy(step, held);
}

Fate StreamGate::decide_by_policy(const StepInfo &step, bool held) {
  if (options_.policy == StreamPolicy::block)
    readers_.wait(most() - 1, records_.given(), step.index);
  const bool room = readers_.channels().behind(records_.given()) < most();
  if (options_.policy == StreamPolicy::drop_oldest)
    return !room ? Fate::held : held ? Fate::hand_over : Fate::taken;
  if (options_.policy == StreamPolicy::adapt) {
    if (room && budget_.affordable()) {
      metered_ = spent();
      return Fate::taken;
    }
    records_.left_out(step, "skipped");
    return Fate::left_out;
  }
  if (room)
    return Fate::taken;
  records_.left_out(step, "dropped");
  return Fate::left_out;
}

/// Steps that may be on their way. Of those that wait here, not in ADIOS2, the oldest can still be taken back: so it
/// gets no more than keep a reader busy.
std::int64_t StreamGate::most() const {
  return options_.policy == StreamPolicy::drop_oldest ? std::min<std::int64_t>(options_.queue, 2) : options_.queue;
}

bool StreamGate::has_room() {
  readers_.channels().drain(0, records_.given());
  return readers_.channels().behind(records_.given()) < most();
}

bool StreamGate::wait_for_room(std::int64_t step) {
  readers_.wait(most() - 1, records_.given(), step);
  return readers_.there();
}

void StreamGate::wait_for_all(std::int64_t step) { readers_.wait(0, records_.given(), step); }

void StreamGate::given() {
  had_time_ = records_.given();
  readers_.channels().note_given(had_time_);
}

/// Keeps the account of what the coupling costs, since there was a reader.
void StreamGate::meter(Clock::time_point begin) {
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

/// Seconds that the series has kept the simulation, all phases.
double StreamGate::spent() const {
  double sum = 0;
  for (std::size_t phase = 0; phase < phase_count; ++phase)
    sum += trace_.total(static_cast<Phase>(phase)).seconds;
  return sum;
}

void StreamGate::end() {
  readers_.channels().end(records_.given());
  for (const auto &[after, before] : readers_.channels().take_gaps())
    records_.lost_between(after, before);
  ended_ = Clock::now();
}

CouplingSide StreamGate::own_side() const {
  CouplingSide own = own_;
  own.steps = records_.given();
  own.state = ended_ ? "closed" : "open";
  if (!met_)
    return own;
  own.elapsed = seconds(*met_, ended_.value_or(Clock::now()));
  own.wait = waited() - met_waited_;
  own.transfer = std::max(0.0, spent() - met_spent_ - own.wait);
  own.compute = std::max(0.0, own.elapsed - own.wait - own.transfer);
  return own;
}

Coupling StreamGate::coupling() const {
  Coupling result;
  result.role = Coupling::Role::writer;
  result.own = own_side();
  for (const auto &reader : readers_.channels().readers())
    result.others.push_back(reader.side);
  result.dropped = records_.count("dropped");
  result.skipped = records_.count("skipped");
  result.unread = records_.count("unread");
  return result;
}

} // namespace tailrace::io
