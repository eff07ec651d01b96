#include <tailrace/io/sst/control/reader_channels.hpp>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tailrace::io {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double call_timeout = 10;          ///< seconds in which a new connection must show the token
constexpr std::size_t most_pending = 64;     ///< connections at once that have not shown it yet
constexpr int defer = 60, backlog = 1 << 16; ///< see PortGuard: who sends nothing is not accepted

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// A number of seconds, positive and finite whatever the other side sends.
double seconds_in(const json &line, const char *name) {
  const json value = line.value(name, json());
  const double seconds = value.is_number() ? value.get<double>() : 0;
  return seconds > 0 && seconds < 1e9 ? seconds : 0;
}

std::int64_t whole_number(const json &line, const char *name) {
  const json value = line.value(name, json());
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool is_true(const json &line, const char *name) { return line.value(name, json()) == json(true); }

std::string text(const json &line, const char *name) {
  const json value = line.value(name, json());
  return value.is_string() ? value.get<std::string>().substr(0, 256) : "";
}

std::vector<std::string> texts(const json &line, const char *name) {
  std::vector<std::string> result;
  if (const json values = line.value(name, json()); values.is_array())
    for (const json &value : values)
      if (value.is_string())
        result.push_back(value.get<std::string>());
  return result;
}

/// Whether accept failed because of the connection that it was about to take, so that the next one may be well.
bool of_one_connection(int error) {
  const auto all = {EINTR,  ECONNABORTED, EPERM,        ENETDOWN,   EPROTO,     ENOPROTOOPT,
                    ENONET, EHOSTDOWN,    EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH};
  return std::find(all.begin(), all.end(), error) != all.end();
}

/// The host at the other end, which may have another address here than it knows of.
Networks peer_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return {};
  return {{ntohl(address.sin_addr.s_addr)}};
}

/// The record of a reader from its hello.
ReaderRecord record_of(const json &hello) {
  ReaderRecord record;
  record.side.ranks = whole_number(hello, "ranks");
  record.side.host = text(hello, "host");
  record.side.process = whole_number(hello, "process");
  record.side.state = "open";
  for (std::string &one : texts(hello, "connections"))
    record.connections.insert(std::move(one));
  record.heard = Clock::now();
  return record;
}

} // namespace

ReaderChannels::ReaderChannels(std::string token) : token_(std::move(token)) {
  listen();
  if (port_ == 0) {
    problem_ = fmt::format("no control channel ({}): readers count as those of other programs, and say nothing of "
                           "their time",
                           std::strerror(errno));
    if (listener_ >= 0)
      ::close(listener_);
    listener_ = -1;
  }
}

void ReaderChannels::listen() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  const int on = 1;
  if (listener_ >= 0 && ::bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 &&
      ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && // see adios2_listeners
      ::setsockopt(listener_, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, sizeof defer) == 0 &&
      ::listen(listener_, backlog) == 0 && ::getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size) == 0)
    port_ = ntohs(address.sin_port);
}

ReaderChannels::~ReaderChannels() {
  if (listener_ >= 0)
    ::close(listener_);
}

bool ReaderChannels::wait(double seconds) const {
  std::vector<pollfd> all;
  if (listens())
    all.push_back({listener_, POLLIN, 0});
  for (const auto &one : pending_)
    all.push_back({one.socket.descriptor(), POLLIN, 0});
  for (const auto &one : sockets_)
    if (one.open())
      all.push_back({one.descriptor(), POLLIN, 0});
  return ::poll(all.data(), all.size(), static_cast<int>(seconds * 1000)) > 0;
}

/// No more than this in one call: a crowd must not take all descriptors of the process.
void ReaderChannels::accept_all() {
  for (std::size_t number = 0; number < most_pending && listens(); ++number) {
    LineSocket socket(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.open())
      pending_.push_back({std::move(socket), Clock::now()});
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return;
    else if (!of_one_connection(errno))
      pause(errno);
  }
}

/// Stops accepting for a while, perhaps because descriptors ran out: poll and accept would fail again and again.
void ReaderChannels::pause(int error) {
  resume_ = Clock::now() + std::chrono::seconds(1);
  problem_ = fmt::format("the control channel could not take a connection ({}), and tries again every second: until it "
                         "can, no reader gets in that is not on one of `hosts`{}",
                         std::strerror(error),
                         error == EMFILE ? ". To fix this, let a process open more files (ulimit -n)" : "");
}

/// Whether it shows the token.
bool ReaderChannels::call(PendingConnection &pending, const json &line) const {
  if (text(line, "token") != token_ || whole_number(line, "version") != channel_version)
    return false;
  pending.called = true;
  pending.hosts = known_networks(texts(line, "addresses"));
  pending.hosts.merge(peer_of(pending.socket.descriptor()));
  return true;
}

/// Whether the connection is not pending any more: it has become a reader, or is refused.
bool ReaderChannels::admit(PendingConnection &pending, std::int64_t given) {
  std::vector<json> lines = pending.socket.take();
  if (!lines.empty() && !pending.called) {
    if (!call(pending, lines.front()))
      return true;
    lines.erase(lines.begin());
  }
  if (lines.empty())
    return !pending.socket.open() || (!pending.called && seconds_since(pending.since) > call_timeout);
  if (is_true(lines.front(), "left")) // before it was admitted
    return true;
  ReaderRecord record = record_of(lines.front());
  record.done = given;
  for (std::size_t number = 1; number < lines.size(); ++number)
    note(record, lines[number], given);
  if (!pending.socket.open() && record.present())
    record.side.state = "lost";
  records_.push_back(std::move(record));
  sockets_.push_back(std::move(pending.socket));
  return true;
}

void ReaderChannels::note(ReaderRecord &record, const json &line, std::int64_t given) {
  record.heard = Clock::now();
  if (is_true(line, "left"))
    record.side.state = "closed";
  const std::int64_t number = whole_number(line, "done"), before = whole_number(line, "before");
  if (number <= 0 || number > given)
    return;
  if (before > 0 && number > before + 1)
    gaps_.emplace_back(before, number);
  record.done = record.reported = number;
  ++record.side.steps;
  record.side.compute += seconds_in(line, "compute");
  record.side.wait += seconds_in(line, "wait");
  record.side.transfer += seconds_in(line, "transfer");
  record.side.elapsed = record.side.compute + record.side.wait + record.side.transfer;
}

void ReaderChannels::take(std::size_t reader, std::int64_t given) {
  for (const json &line : sockets_[reader].take())
    note(records_[reader], line, given);
  if (!sockets_[reader].open() && records_[reader].present())
    records_[reader].side.state = "lost";
  if (!records_[reader].present())
    sockets_[reader].close();
}

void ReaderChannels::drain(double seconds, std::int64_t given) {
  if (seconds > 0)
    wait(seconds);
  accept_all();
  std::erase_if(pending_, [&](PendingConnection &one) { return admit(one, given); });
  // Our readers call at once, so that those without a call are strangers; the first of them may stay for a while.
  std::size_t strangers = 0;
  std::erase_if(pending_, [&](const PendingConnection &one) { return !one.called && ++strangers > most_pending; });
  for (std::size_t reader = 0; reader < records_.size(); ++reader)
    if (sockets_[reader].open())
      take(reader, given);
}

bool ReaderChannels::any_callers() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto &one) { return one.called && !one.welcome; });
}

Networks ReaderChannels::callers() const {
  Networks result;
  for (const auto &one : pending_)
    if (one.called && !one.welcome)
      result.insert(one.hosts.begin(), one.hosts.end());
  return result;
}

void ReaderChannels::welcome() {
  for (auto &one : pending_)
    if (one.called && !one.welcome) {
      one.socket.send({{"welcome", true}});
      one.welcome = true;
    }
}

bool ReaderChannels::any_pending() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto &one) { return one.welcome; });
}

bool ReaderChannels::somebody_silent() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto &one) { return one.welcome && !one.greeted; });
}

void ReaderChannels::greet() {
  for (auto &one : pending_)
    one.greeted = true;
}

void ReaderChannels::end(std::int64_t given) {
  drain(0, given);
  for (std::size_t reader = 0; reader < records_.size(); ++reader) {
    if (records_[reader].present())
      records_[reader].side.state = "closed";
    sockets_[reader].close();
  }
}

bool ReaderChannels::any() const {
  return std::any_of(records_.begin(), records_.end(), [](const auto &one) { return one.present(); });
}

std::int64_t ReaderChannels::behind(std::int64_t given) const {
  std::int64_t most = 0;
  for (const auto &one : records_)
    if (one.present())
      most = std::max(most, given - one.done);
  return most;
}

void ReaderChannels::note_given(std::int64_t given) {
  for (auto &one : records_)
    if (one.done >= given - 1)
      one.heard = Clock::now();
}

std::vector<std::size_t> ReaderChannels::late(std::int64_t most, std::int64_t given, double seconds,
                                              Clock::time_point from) const {
  std::vector<std::size_t> result;
  for (std::size_t reader = 0; reader < records_.size(); ++reader) {
    const ReaderRecord &one = records_[reader];
    if (one.present() && given - one.done > most && seconds_since(std::max(one.heard, from)) >= seconds)
      result.push_back(reader);
  }
  return result;
}

std::vector<std::size_t> ReaderChannels::unreported(std::int64_t given, double seconds) const {
  std::vector<std::size_t> result;
  for (std::size_t reader = 0; reader < records_.size(); ++reader)
    if (const ReaderRecord &one = records_[reader];
        one.present() && one.reported < given && seconds_since(one.heard) >= seconds)
      result.push_back(reader);
  return result;
}

void ReaderChannels::drop(std::size_t reader) {
  records_[reader].side.state = "dropped";
  sockets_[reader].send({{"dropped", true}});
  sockets_[reader].close();
}

std::vector<std::pair<std::int64_t, std::int64_t>> ReaderChannels::take_gaps() { return std::exchange(gaps_, {}); }

} // namespace tailrace::io
