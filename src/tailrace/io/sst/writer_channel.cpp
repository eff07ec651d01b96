#include <tailrace/io/sst/writer_channel.hpp>

#include <tailrace/io/sst/host.hpp>
#include <tailrace/io/sst/reader_channels.hpp>

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

/// A closed socket when nobody answers there.
LineSocket connect_to(const std::string &name, int port) {
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
    if (::poll(&one, 1, connect_timeout) != 1 ||
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      return LineSocket();
  }
  if (error != 0)
    return LineSocket();
  const int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

} // namespace

void WriterChannel::connect(const std::vector<std::string> &addresses, int port) {
  for (const auto &address : addresses)
    if (LineSocket socket = connect_to(address, port); socket.open()) {
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
    dropped_ = dropped_ || line.value("dropped", json()) == json(true);
  return dropped_;
}

} // namespace tailrace::io
