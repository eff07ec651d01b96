#include <tailrace/io/sst/control/reader_table.hpp>

#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <thread>
#include <utility>

namespace tailrace::io {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int last_attempt = 10; ///< seconds after `timeout`, or after the last cut, until nothing can help
constexpr int patience = 5;      ///< calls, a second apart, between two connections that are cut

/// Cuts the connection that has been silent for longest. Returns false when there is none.
bool cut_longest_silent(const std::vector<TcpConnection> &found) {
  const auto silent =
      std::max_element(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.silent < b.silent; });
  if (silent != found.end())
    cut(*silent);
  return silent != found.end();
}

/// The connections on which something waits, and nothing is confirmed for a moment: the host at the other side is
/// silent, or its program takes nothing. Who works takes some milliseconds.
std::vector<TcpConnection> stuck_connections() {
  const std::vector<TcpConnection> before = accepted_connections();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  std::vector<TcpConnection> found = accepted_connections();
  std::erase_if(found, [&](const TcpConnection &now) {
    return std::none_of(before.begin(), before.end(), [&](const TcpConnection &then) {
      return now.inode == then.inode && then.unsent > 0 && now.unsent > 0 && now.bytes_acked == then.bytes_acked;
    });
  });
  return found;
}

/// Whether one of the connections is the reader's.
bool has_one_of(const ReaderRecord &reader, const std::vector<TcpConnection> &connections) {
  return std::any_of(connections.begin(), connections.end(),
                     [&](const TcpConnection &one) { return reader.connections.count(one.peer) > 0; });
}

} // namespace

ReaderTable::ReaderTable(std::string stream, const std::string &token, double timeout)
    : stream_(std::move(stream)), timeout_(timeout), channels_(token) {}

bool ReaderTable::any() const {
  if (channels_.any())
    return true;
  const AdmittedReaders seen = seen_();
  if (!seen.told && channels_.any_pending())
    return false; // the connections may be those of the reader that waits
  std::set<std::string> there = seen.ends;
  for (const auto &one : channels_.readers())
    if (one.side.state != "lost") // a reader that is lost to the channel may still read
      for (const std::string &end : one.connections)
        there.erase(end);
  return !there.empty();
}

bool ReaderTable::any_pending() const {
  const AdmittedReaders seen = seen_();
  // A reader of ours that was let in and has not said who it is waits to be admitted.
  return seen.told ? seen.waiting > 0 : channels_.any_pending() && !seen.ends.empty();
}

bool ReaderTable::admitted_since(std::int64_t before, std::int64_t given) {
  if (const AdmittedReaders seen = seen_(); seen.told)
    return seen.ever > before;
  channels_.drain(0, given);
  await_hello(given);
  return any();
}

void ReaderTable::meet(std::int64_t given) {
  channels_.drain(0, given);
  if (!channels_.somebody_silent() || !seen_().told || !somebody_new())
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
  std::set<std::string> there = seen_().ends;
  for (const auto &one : channels_.readers())
    for (const std::string &end : one.connections)
      there.erase(end);
  return !there.empty();
}

void ReaderTable::say(std::int64_t step, const std::string &who) const {
  fmt::print(stderr, "tailrace: stream {}, step {}: a reader{} has taken nothing for {:g} s and is dropped\n", stream_,
             step, who, timeout_);
}

void ReaderTable::drop(std::size_t reader, std::int64_t step) {
  const ReaderRecord &record = channels_.readers()[reader];
  say(step, fmt::format(" (process {} on {})", record.side.process, record.side.host));
  for (const auto &one : accepted_connections())
    if (record.connections.count(one.peer) > 0)
      cut(one);
  channels_.drop(reader);
}

/// Of the `late` readers those that are to blame. ADIOS2 sends to all readers in one thread, so that a reader whose
/// host is silent holds up the others: while there is one, no other is blamed, and it goes when it has said nothing for
/// `seconds`.
std::vector<std::size_t> ReaderTable::to_blame(const std::vector<std::size_t> &late, std::int64_t given,
                                               double seconds) const {
  const auto &readers = channels_.readers();
  if (late.empty() || std::count_if(readers.begin(), readers.end(), [](const auto &one) { return one.present(); }) < 2)
    return late;
  const std::vector<TcpConnection> stuck = stuck_connections();
  std::vector<std::size_t> silent = late;
  for (const std::size_t reader : channels_.unreported(given, seconds))
    silent.push_back(reader);
  std::sort(silent.begin(), silent.end());
  silent.erase(std::unique(silent.begin(), silent.end()), silent.end());
  std::erase_if(silent, [&](std::size_t reader) { return !has_one_of(readers[reader], stuck); });
  if (!silent.empty())
    return silent;
  const bool soon = std::any_of(readers.begin(), readers.end(), [&](const ReaderRecord &one) {
    return one.present() && one.reported < given && has_one_of(one, stuck);
  });
  return soon ? std::vector<std::size_t>() : late;
}

void ReaderTable::wait(std::int64_t most, std::int64_t given, std::int64_t step) {
  auto begin = Clock::now();
  channels_.drain(0, given);
  while (channels_.behind(given) > most) {
    for (const std::size_t reader : to_blame(channels_.late(most, given, timeout_, begin), given, timeout_)) {
      drop(reader, step);
      begin = Clock::now(); // of the time that the others get, now that this one is gone
    }
    if (channels_.behind(given) > most)
      channels_.drain(std::min(0.5, timeout_), given);
  }
}

/// The readers that hold up ADIOS2, as far as can be seen.
std::vector<std::size_t> ReaderTable::holding_up(std::int64_t given) const {
  if (const auto late = to_blame(channels_.unreported(given, timeout_ / 2), given, timeout_ / 2); !late.empty())
    return late;
  const std::vector<TcpConnection> stuck = stuck_connections();
  std::vector<std::size_t> result;
  for (std::size_t reader = 0; reader < channels_.readers().size(); ++reader)
    if (const ReaderRecord &record = channels_.readers()[reader]; record.present() && has_one_of(record, stuck))
      result.push_back(reader);
  return result;
}

/// Cuts the connection of a reader that is none of ours. Returns false when there is none.
bool ReaderTable::cut_other(std::int64_t step, bool first) const {
  if (first)
    say(step, "");
  std::set<std::string> ours;
  for (const ReaderRecord &record : channels_.readers())
    if (record.present())
      ours.insert(record.connections.begin(), record.connections.end());
  const std::vector<TcpConnection> found = accepted_connections();
  std::vector<TcpConnection> others = found;
  std::erase_if(others, [&](const auto &one) { return ours.count(one.peer) > 0; });
  return cut_longest_silent(others.empty() ? found : others);
}

bool ReaderTable::rescue(int call, std::int64_t given, std::int64_t step) {
  if (call == 0)
    last_cut_ = -patience;
  if (call < last_cut_ + patience) // ADIOS2 may still be closing the last one, and the next reader may be healthy
    return false;
  channels_.drain(0, given);
  const std::vector<std::size_t> late = holding_up(given);
  for (const std::size_t reader : late)
    drop(reader, step);
  // What a reader said while ADIOS2 was called is heard only now, so that the time of those behind begins now.
  if (late.empty() && !channels_.unreported(given, 0).empty())
    return false;
  if (!late.empty() || cut_other(step, last_cut_ < 0)) {
    last_cut_ = call;
    return false;
  }
  return call >= std::max(last_cut_, 0) + last_attempt;
}

void ReaderTable::rescue_elsewhere() {
  for (const auto &one : stuck_connections())
    cut(one);
}

} // namespace tailrace::io
