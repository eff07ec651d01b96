#include <tailrace/io/sst/reader_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tailrace::io {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int last_attempt = 10; ///< seconds after `timeout` until nothing can help
constexpr int patience = 5;      ///< calls, a second apart, between two connections that are cut

/// Cuts the connection that has been silent for longest. Returns false when there is none.
bool cut_longest_silent(const std::vector<TcpConnection> &found) {
  const auto silent =
      std::max_element(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.silent < b.silent; });
  if (silent != found.end())
    cut(*silent);
  return silent != found.end();
}

/// Whether the system of the reader's host does not confirm what was sent to it.
bool takes_nothing(const std::vector<TcpConnection> &found, const ReaderRecord &record) {
  return std::any_of(found.begin(), found.end(),
                     [&](const auto &one) { return one.unsent > 0 && record.ports.count(one.peer_port) > 0; });
}

} // namespace

ReaderTable::ReaderTable(std::string stream, const std::string &token, double timeout)
    : stream_(std::move(stream)), timeout_(timeout), channels_(token) {}

bool ReaderTable::any() const {
  if (channels_.any())
    return true;
  std::set<int> gone;
  for (const auto &one : channels_.readers())
    if (one.side.state != "lost") // a reader that is lost to the channel may still read
      gone.insert(one.ports.begin(), one.ports.end());
  const auto found = Admission::connections();
  return (admission_.verified() || !any_pending()) && std::any_of(found.begin(), found.end(), [&](const auto &one) {
           return admission_.admitted(one) && gone.count(one.peer_port) == 0;
         });
}

bool ReaderTable::any_pending() const {
  const auto found = Admission::connections();
  if (!admission_.verified()) // a reader of ours that has not said who it is waits to be admitted
    return channels_.any_pending() && !found.empty();
  return std::any_of(found.begin(), found.end(), [&](const auto &one) { return admission_.pending(one); });
}

bool ReaderTable::admitted_since(std::uint64_t before, std::int64_t given) {
  if (admission_.verified())
    return Admission::admitted_since(before);
  channels_.drain(0, given);
  await_hello(given);
  return any();
}

void ReaderTable::meet(std::int64_t given) {
  channels_.drain(0, given);
  if (!admission_.verified() || !channels_.somebody_silent() || !somebody_new())
    return;
  await_hello(given);
  channels_.greet(); // wait once only: a connection that is no reader of ours must not cost more
}

/// Waits at most half a second until all that connected to the control channel have said who they are.
void ReaderTable::await_hello(std::int64_t given) {
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (channels_.somebody_silent() && Clock::now() < end)
    channels_.drain(0.1, given);
}

/// Whether a reader was admitted that has not said who it is, and may be one of ours.
bool ReaderTable::somebody_new() const {
  std::set<int> known;
  for (const auto &one : channels_.readers())
    known.insert(one.ports.begin(), one.ports.end());
  const auto found = Admission::connections();
  return std::any_of(found.begin(), found.end(),
                     [&](const auto &one) { return admission_.admitted(one) && known.count(one.peer_port) == 0; });
}

void ReaderTable::say(std::int64_t step, const std::string &who) const {
  fmt::print(stderr, "tailrace: stream {}, step {}: a reader{} has taken nothing for {:g} s and is dropped\n", stream_,
             step, who, timeout_);
}

void ReaderTable::drop(std::size_t reader, std::int64_t step) {
  const ReaderRecord &record = channels_.readers()[reader];
  say(step, fmt::format(" (process {} on {})", record.side.process, record.side.host));
  for (const auto &one : Admission::connections())
    if (record.ports.count(one.peer_port) > 0)
      cut(one);
  channels_.drop(reader);
}

void ReaderTable::wait(std::int64_t most, std::int64_t given, std::int64_t step) {
  const auto begin = Clock::now();
  channels_.drain(0, given);
  while (channels_.behind(given) > most) {
    for (const std::size_t reader : channels_.late(most, given, timeout_, begin))
      drop(reader, step);
    if (channels_.behind(given) > most)
      channels_.drain(std::min(0.5, timeout_), given);
  }
}

bool ReaderTable::rescue(int call, std::int64_t given, std::int64_t step) {
  if (call % patience != 0) // ADIOS2 may still be closing the last one, and the next reader may be healthy
    return false;
  channels_.drain(0, given);
  std::vector<TcpConnection> found = Admission::connections(), others = found;
  std::vector<std::size_t> late = channels_.late(0, given, timeout_ / 2, {});
  if (late.empty()) // one that we heard of late may have more to do than we know
    late = channels_.silent(given, timeout_ / 2);
  std::set<int> healthy;
  for (std::size_t reader = 0; reader < channels_.readers().size(); ++reader)
    if (const ReaderRecord &record = channels_.readers()[reader]; record.present()) {
      healthy.insert(record.ports.begin(), record.ports.end());
      if (late.empty() && takes_nothing(found, record))
        late.push_back(reader);
    }
  if (!late.empty()) {
    for (const std::size_t reader : late)
      drop(reader, step);
    return false;
  }
  if (call == 0)
    say(step, "");
  std::erase_if(others, [&](const auto &one) { return healthy.count(one.peer_port) > 0; });
  return !cut_longest_silent(others.empty() ? found : others) && call >= last_attempt;
}

void ReaderTable::rescue_elsewhere() {
  for (const auto &one : Admission::connections())
    if (one.unsent > 0)
      cut(one);
}

} // namespace tailrace::io
