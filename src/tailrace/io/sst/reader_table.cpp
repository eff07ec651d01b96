#include <tailrace/io/sst/reader_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tailrace::io {

using Clock = std::chrono::steady_clock;

namespace {

constexpr int last_attempt = 10; ///< seconds after `timeout` when nothing has helped
constexpr int patience = 5;      ///< calls, a second apart, from one connection that is cut to the next

std::set<int> &stream_ports() {
  static std::set<int> ports;
  return ports;
}

std::vector<TcpConnection> connections() {
  std::vector<TcpConnection> found = tcp_connections();
  std::erase_if(found, [](const TcpConnection &one) { return stream_ports().count(one.local_port) == 0; });
  return found;
}

std::uint64_t bytes(const TcpConnection &one) { return one.bytes_sent + static_cast<std::uint64_t>(one.unsent); }

/// The one silent for longest; returns whether there was one.
bool cut_longest_silent(const std::vector<TcpConnection> &found) {
  const auto silent =
      std::max_element(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.silent < b.silent; });
  if (silent != found.end())
    cut(*silent);
  return silent != found.end();
}

} // namespace

StreamReaders::StreamReaders(std::string stream, const std::string &token, double timeout)
    : stream_(std::move(stream)), timeout_(timeout), channels_(token) {}

void StreamReaders::add_ports(const std::set<int> &ports) { stream_ports().insert(ports.begin(), ports.end()); }

bool StreamReaders::visible() { return !stream_ports().empty(); }

bool StreamReaders::there() const {
  if (channels_.any())
    return true;
  std::set<int> gone;
  for (const auto &one : channels_.readers())
    if (one.side.state != "lost") // the channel only, perhaps
      gone.insert(one.ports.begin(), one.ports.end());
  const auto found = connections();
  return std::any_of(found.begin(), found.end(),
                     [&](const auto &one) { return bytes(one) > least_welcome && gone.count(one.peer_port) == 0; });
}

bool StreamReaders::knocking() const {
  const auto found = connections();
  return std::any_of(found.begin(), found.end(),
                     [](const auto &one) { return one.bytes_sent > 0 && bytes(one) <= least_welcome; });
}

std::uint64_t StreamReaders::sent() {
  std::uint64_t sum = 0;
  for (const auto &one : connections())
    sum += bytes(one);
  return sum;
}

void StreamReaders::meet(std::int64_t given) {
  channels_.drain(0, given);
  if (!channels_.somebody_silent() || !somebody_new())
    return;
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (channels_.somebody_silent() && Clock::now() < end)
    channels_.drain(0.1, given);
  channels_.greet(); // once: who is no reader of ours shall not cost more
}

/// Whether a reader was admitted that may yet turn out to be ours.
bool StreamReaders::somebody_new() const {
  std::set<int> known;
  for (const auto &one : channels_.readers())
    known.insert(one.ports.begin(), one.ports.end());
  const auto found = connections();
  return std::any_of(found.begin(), found.end(),
                     [&](const auto &one) { return bytes(one) > least_welcome && known.count(one.peer_port) == 0; });
}

void StreamReaders::say(std::int64_t step, const std::string &who) const {
  fmt::print(stderr, "tailrace: stream {}, step {}: a reader{} has taken nothing for {:g} s and is dropped\n", stream_,
             step, who, timeout_);
}

void StreamReaders::drop(std::size_t reader, std::int64_t step) {
  const ReaderRecord &record = channels_.readers()[reader];
  say(step, fmt::format(" (process {} on {})", record.side.process, record.side.host));
  for (const auto &one : connections())
    if (record.ports.count(one.peer_port) > 0)
      cut(one);
  channels_.drop(reader);
}

void StreamReaders::wait(std::int64_t most, std::int64_t given, std::int64_t step) {
  const auto begin = Clock::now();
  channels_.drain(0, given);
  while (channels_.behind(given) > most) {
    for (const std::size_t reader : channels_.late(most, given, timeout_, begin))
      drop(reader, step);
    if (channels_.behind(given) > most)
      channels_.drain(std::min(0.5, timeout_), given);
  }
}

bool StreamReaders::rescue(int call, std::int64_t given, std::int64_t step) {
  if (call % patience != 0) // ADIOS2 may still take leave of the one before, and the next in line may be healthy
    return false;
  channels_.drain(0, given);
  if (const auto late = channels_.late(0, given, timeout_ / 2, {}); !late.empty()) {
    for (const std::size_t reader : late)
      drop(reader, step);
    return false;
  }
  if (call == 0)
    say(step, "");
  std::set<int> healthy;
  for (const auto &one : channels_.readers())
    if (one.present())
      healthy.insert(one.ports.begin(), one.ports.end());
  std::vector<TcpConnection> found = connections(), others = found;
  std::erase_if(others, [&](const auto &one) { return healthy.count(one.peer_port) > 0; });
  return !cut_longest_silent(others.empty() ? found : others) && call >= last_attempt;
}

void StreamReaders::rescue_elsewhere() {
  for (const auto &one : connections())
    if (one.unsent > 0)
      cut(one);
}

} // namespace tailrace::io
