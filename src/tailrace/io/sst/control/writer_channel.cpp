#include <tailrace/io/sst/control/writer_channel.hpp>

#include <tailrace/io/sst/control/reader_channels.hpp>
#include <tailrace/support/process_identity.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr int connect_timeout = 1000; ///< ms
constexpr int reach_timeout = 5000;   ///< ms

/// A closed socket when nobody answers there.
LineSocket connect_to(const std::string &name, int port, int timeout) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (port <= 0 || port > 65535 || ::inet_pton(AF_INET, name.c_str(), &address.sin_addr) != 1)
    return LineSocket();
  LineSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.open())
    return socket;
  int error =
      ::connect(socket.descriptor(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd one{socket.descriptor(), POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&one, 1, timeout) != 1 || ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      return LineSocket();
  }
  if (error != 0)
    return LineSocket();
  const int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

} // namespace

bool reachable(const std::string &address, int port) {
  const LineSocket socket = connect_to(address, port, reach_timeout);
  const linger none{1, 0}; // an ordinary end without bytes would reach ADIOS2 as a connection
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
  return socket.open();
}

void WriterChannel::connect(const std::vector<std::string> &addresses, int port) {
  for (const auto &address : addresses)
    if (LineSocket socket = connect_to(address, port, connect_timeout); socket.open()) {
      socket_ = std::move(socket);
      return;
    }
}

void WriterChannel::call(const std::string &token, const std::vector<std::string> &addresses) {
  welcome_ = false;
  socket_.send({{"token", token}, {"version", channel_version}, {"addresses", addresses}});
}

bool WriterChannel::welcome(double seconds) {
  if (pollfd one{socket_.descriptor(), POLLIN, 0}; socket_.open() && !welcome_)
    ::poll(&one, 1, static_cast<int>(seconds * 1000));
  take();
  return welcome_;
}

void WriterChannel::hello(int ranks, const std::set<std::string> &connections) {
  socket_.send(
      {{"ranks", ranks}, {"host", this_process().host}, {"process", this_process().pid}, {"connections", connections}});
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
  take();
  return dropped_;
}

void WriterChannel::take() {
  for (const json &line : socket_.take()) {
    welcome_ = welcome_ || line.value("welcome", json()) == json(true);
    dropped_ = dropped_ || line.value("dropped", json()) == json(true);
  }
}

} // namespace tailrace::io
