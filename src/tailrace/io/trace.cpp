#include <tailrace/io/trace.hpp>

#include <algorithm>

namespace tailrace::io {

namespace {

thread_local Span *innermost = nullptr;
thread_local std::int64_t current_step = -1;
thread_local bool in_background = false;

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

} // namespace

std::string_view name_of(Phase phase) {
  constexpr std::array<std::string_view, phase_count> names{"convert",  "checksum", "copy", "aggregate", "write",
                                                            "metadata", "sync",     "wait", "read"};
  return names[static_cast<std::size_t>(phase)];
}

Trace::Total Trace::total(Phase phase) const {
  const std::lock_guard lock(mutex_);
  return totals_[static_cast<std::size_t>(phase)];
}

void Trace::keep_events() {
  const std::lock_guard lock(mutex_);
  keep_ = true;
}

std::vector<Trace::Event> Trace::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

void Trace::set_step(std::int64_t index) { current_step = index; }

void Trace::set_background() { in_background = true; }

Span::Span(Trace &trace, Phase phase, std::int64_t bytes)
    : trace_(trace), phase_(phase), bytes_(bytes), start_(Trace::Clock::now()), outer_(innermost) {
  innermost = this;
}

Span::~Span() {
  const double all = seconds(Trace::Clock::now() - start_), own = std::max(0.0, all - within_);
  innermost = outer_;
  if (outer_ != nullptr)
    outer_->within_ += all;
  const std::lock_guard lock(trace_.mutex_);
  auto &total = trace_.totals_[static_cast<std::size_t>(phase_)];
  ++total.calls;
  total.bytes += bytes_;
  total.seconds += own;
  if (!trace_.keep_)
    return;
  Trace::Event event{phase_, current_step, bytes_, seconds(start_ - trace_.start_), all, own, in_background, {}, 0};
  std::array<const Span *, 6> around{};
  for (const Span *span = outer_; span != nullptr && event.depth < 6; span = span->outer_)
    around[static_cast<std::size_t>(event.depth++)] = span;
  for (std::uint8_t level = 0; level < event.depth; ++level)
    event.outer[static_cast<std::size_t>(level)] =
        static_cast<std::uint8_t>(around[static_cast<std::size_t>(event.depth - 1 - level)]->phase_);
  trace_.events_.push_back(event);
}

} // namespace tailrace::io
