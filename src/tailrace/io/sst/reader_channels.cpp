#include <tailrace/io/sst/reader_channels.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace tailrace::io {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double patience_with_strangers = 10; ///< seconds until they must have said who they are
constexpr std::size_t most_strangers = 64;     ///< at once
constexpr int connect_timeout = 1000;          ///< ms for each address

double seconds_since(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

/// Positive and finite, whoever says so.
double sane(const json &line, const char *name) {
  const json value = line.value(name, json());
  const double seconds = value.is_number() ? value.get<double>() : 0;
  return seconds > 0 && seconds < 1e9 ? seconds : 0;
}

std::int64_t whole(const json &line, const char *name) {
  const json value = line.value(name, json());
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool says(const json &line, const char *name) { return line.value(name, json()) == json(true); }

std::string text(const json &line, const char *name) {
  const json value = line.value(name, json());
  return value.is_string() ? value.get<std::string>().substr(0, 256) : "";
}

} // namespace

std::string own_host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

json to_json(const CouplingSide &side) {
  return {{"ranks", side.ranks}, {"steps", side.steps},       {"elapsed", side.elapsed}, {"compute", side.compute},
          {"wait", side.wait},   {"transfer", side.transfer}, {"host", side.host},       {"process", side.process}};
}

CouplingSide side_from_json(const json &text) {
  return {text.at("ranks"),    text.at("steps"), text.at("elapsed"), text.at("compute"), text.at("wait"),
          text.at("transfer"), "open",           text.at("host"),    text.at("process")};
}

std::int64_t own_process() { return ::getpid(); }

std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  ifaddrs *all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs *one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0 ||
          (one->ifa_flags & IFF_UP) == 0)
        continue;
      char name[INET_ADDRSTRLEN] = {};
      const auto *address = reinterpret_cast<const sockaddr_in *>(one->ifa_addr);
      if (::inet_ntop(AF_INET, &address->sin_addr, name, sizeof name) != nullptr)
        result.emplace_back(name);
    }
    ::freeifaddrs(all);
  }
  result.emplace_back("127.0.0.1");
  return result;
}

LineSocket::LineSocket(LineSocket &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), rest_(std::move(other.rest_)) {}

LineSocket &LineSocket::operator=(LineSocket &&other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    rest_ = std::move(other.rest_);
  }
  return *this;
}

void LineSocket::close() noexcept {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  descriptor_ = -1;
}

std::vector<json> LineSocket::take() {
  std::vector<json> lines;
  char buffer[4096];
  bool ended = false;
  // At most so much at once: somebody who sends for ever shall not keep us here.
  for (std::size_t taken = 0; open() && !ended && taken < longest_line;) {
    const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) {
      rest_.append(buffer, static_cast<std::size_t>(got));
      taken += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      ended = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      break;
    }
  }
  std::size_t end = 0;
  for (std::size_t begin = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    json line = json::parse(rest_.begin() + static_cast<std::ptrdiff_t>(begin),
                            rest_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (!line.is_object()) {
      ended = true;
      break;
    }
    lines.push_back(std::move(line));
  }
  if (const std::size_t last = rest_.rfind('\n'); last != std::string::npos)
    rest_.erase(0, last + 1);
  if (ended || rest_.size() > longest_line)
    close();
  return lines;
}

void LineSocket::send(const json &line) {
  if (!open())
    return;
  const std::string bytes = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  ssize_t sent = 0;
  do
    sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(bytes.size()))
    close();
}

ReaderChannels::ReaderChannels(std::string token) : token_(std::move(token)) {
  listen();
  if (port_ == 0) {
    problem_ = std::strerror(errno);
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
  if (listener_ >= 0 && ::bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 &&
      ::listen(listener_, 64) == 0 && ::getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size) == 0)
    port_ = ntohs(address.sin_port);
}

ReaderChannels::~ReaderChannels() {
  if (listener_ >= 0)
    ::close(listener_);
}

bool ReaderChannels::wait(double seconds) const {
  std::vector<pollfd> all;
  if (listener_ >= 0)
    all.push_back({listener_, POLLIN, 0});
  for (const auto &one : strangers_)
    all.push_back({one.socket.descriptor(), POLLIN, 0});
  for (const auto &one : sockets_)
    if (one.open())
      all.push_back({one.descriptor(), POLLIN, 0});
  return ::poll(all.data(), all.size(), static_cast<int>(seconds * 1000)) > 0;
}

void ReaderChannels::accept_all() {
  while (listener_ >= 0) {
    LineSocket socket(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open()) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) {
        ::close(listener_); // no more files, perhaps: poll would report it for ever
        listener_ = -1;
      }
      return;
    }
    if (strangers_.size() < most_strangers)
      strangers_.push_back({std::move(socket), Clock::now(), false});
  }
}

/// Whether it is a stranger no longer.
bool ReaderChannels::admit(Stranger &stranger, std::int64_t given) {
  const std::vector<json> lines = stranger.socket.take();
  if (lines.empty())
    return !stranger.socket.open() || seconds_since(stranger.since) > patience_with_strangers;
  const json &hello = lines.front();
  if (text(hello, "token") != token_ || whole(hello, "version") != channel_version)
    return true;
  ReaderRecord record;
  record.side.ranks = whole(hello, "ranks");
  record.side.host = text(hello, "host");
  record.side.process = whole(hello, "process");
  record.side.state = "open";
  if (const json ports = hello.value("ports", json()); ports.is_array())
    for (const json &port : ports)
      if (port.is_number_integer())
        record.ports.insert(port.get<int>());
  record.done = given;
  record.heard = Clock::now();
  for (std::size_t number = 1; number < lines.size(); ++number)
    note(record, lines[number], given);
  if (!stranger.socket.open() && record.present())
    record.side.state = "lost";
  records_.push_back(std::move(record));
  sockets_.push_back(std::move(stranger.socket));
  return true;
}

void ReaderChannels::note(ReaderRecord &record, const json &line, std::int64_t given) {
  record.heard = Clock::now();
  if (says(line, "left"))
    record.side.state = "closed";
  const std::int64_t number = whole(line, "done"), before = whole(line, "before");
  if (number <= 0 || number > given)
    return;
  if (before > 0 && number > before + 1)
    gaps_.emplace_back(before, number);
  record.done = number;
  ++record.side.steps;
  record.side.compute += sane(line, "compute");
  record.side.wait += sane(line, "wait");
  record.side.transfer += sane(line, "transfer");
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
  std::erase_if(strangers_, [&](Stranger &one) { return admit(one, given); });
  for (std::size_t reader = 0; reader < records_.size(); ++reader)
    if (sockets_[reader].open())
      take(reader, given);
}

bool ReaderChannels::somebody_silent() const {
  return std::any_of(strangers_.begin(), strangers_.end(), [](const auto &one) { return !one.greeted; });
}

void ReaderChannels::greet() {
  for (auto &one : strangers_)
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

void ReaderChannels::drop(std::size_t reader) {
  records_[reader].side.state = "dropped";
  sockets_[reader].send({{"dropped", true}});
  sockets_[reader].close();
}

std::vector<std::pair<std::int64_t, std::int64_t>> ReaderChannels::take_gaps() { return std::exchange(gaps_, {}); }

void WriterChannel::connect(const std::vector<std::string> &addresses, int port) {
  for (const auto &name : addresses) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (port <= 0 || port > 65535 || ::inet_pton(AF_INET, name.c_str(), &address.sin_addr) != 1)
      continue;
    LineSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.open())
      return;
    int error =
        ::connect(socket.descriptor(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      pollfd one{socket.descriptor(), POLLOUT, 0};
      socklen_t size = sizeof error;
      if (::poll(&one, 1, connect_timeout) != 1 ||
          ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        continue;
    }
    if (error != 0)
      continue;
    const int on = 1;
    ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    socket_ = std::move(socket);
    return;
  }
}

void WriterChannel::hello(const std::string &token, int ranks, const std::set<int> &ports) {
  socket_.send({{"token", token},
                {"version", channel_version},
                {"ranks", ranks},
                {"host", own_host()},
                {"process", own_process()},
                {"ports", ports}});
}

void WriterChannel::done(std::int64_t number, std::int64_t before, double compute, double wait, double transfer) {
  dropped();
  socket_.send({{"done", number}, {"before", before}, {"compute", compute}, {"wait", wait}, {"transfer", transfer}});
}

void WriterChannel::leave() {
  socket_.send({{"left", true}});
  socket_.close();
}

bool WriterChannel::dropped() {
  for (const json &line : socket_.take())
    dropped_ = dropped_ || says(line, "dropped");
  return dropped_;
}

} // namespace tailrace::io
