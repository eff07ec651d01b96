// Tests of what keeps strangers from the ports of ADIOS2. One process is the listener and the strangers. Other hosts
// are in tests/cluster.

#include <tailrace/io/sst/host.hpp>
#include <tailrace/io/sst/port_guard.hpp>
#include <tailrace/io/sst/stream_end.hpp>
#include <tailrace/support/error.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

using namespace tailrace::io;

namespace {

Networks networks(const std::vector<std::string> &texts) { return known_networks(texts); }

/// A TCP socket that closes itself.
struct Socket {
  int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  Socket() = default;
  explicit Socket(int accepted) : descriptor(accepted) {}
  ~Socket() { ::close(descriptor); }
  Socket(const Socket &) = delete;
  Socket &operator=(const Socket &) = delete;
};

sockaddr_in loopback(int port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void connect(const Socket &socket, int port) {
  const sockaddr_in address = loopback(port);
  ASSERT_EQ(::connect(socket.descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
}

bool somebody_at(const Socket &listener, int milliseconds) {
  pollfd one{listener.descriptor, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) == 1;
}

int option(const Socket &socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.descriptor, level, name, &value, &size), 0);
  return value;
}

/// Listens as ADIOS2 does, with a short queue.
TcpListener listen(const Socket &socket, const std::vector<TcpListener> &before) {
  const sockaddr_in address = loopback();
  EXPECT_EQ(::bind(socket.descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(socket.descriptor, 10), 0);
  const auto listeners = new_listeners(tcp_listeners(), before);
  EXPECT_EQ(listeners.size(), 1U);
  return listeners.at(0);
}

TEST(Networks, AreReadAndCompared) {
  EXPECT_EQ(networks_from(" 10.1.2.3, 10.2.255.1/16 any"), networks({"10.1.2.3", "10.2.0.0/16", "0.0.0.0/0"}));
  EXPECT_EQ(networks_from(""), Networks{});
  EXPECT_EQ(networks_from("localhost").count({0x7f000001}), 1U);
  EXPECT_EQ(text_of(*networks({"10.2.255.1/17"}).begin()), "10.2.128.0/17");
  for (const std::string wrong : {"10.1.2.3/33", "10.1.2.3/", "10.1.2.3/x", "no such host!", "1.2.3.4.5"})
    EXPECT_THROW(networks_from(wrong), tailrace::InputError) << wrong;
  EXPECT_TRUE(networks({"10.1.2.3/33", "::1", ""}).empty());
  EXPECT_TRUE(covers(networks({"10.1.0.0/16", "10.3.0.1"}), networks({"10.1.2.3", "10.3.0.1", "10.1.128.0/17"})));
  EXPECT_FALSE(covers(networks({"10.1.0.0/16"}), networks({"10.1.2.3", "10.2.2.3"})));
  EXPECT_FALSE(covers(networks({"10.1.0.0/16"}), networks({"10.0.0.0/8"})));
  EXPECT_TRUE(covers(networks({"0.0.0.0/0"}), networks({"10.0.0.0/8"})));
  EXPECT_TRUE(covers({}, {}));
}

TEST(PortGuard, IdleConnectionsAreNotSeen) {
  const auto before = tcp_listeners();
  const Socket listener;
  const TcpListener found = listen(listener, before);
  PortGuard::add({found}, 7);
  EXPECT_EQ(PortGuard::problem(), "");
  EXPECT_EQ(option(listener, IPPROTO_TCP, TCP_USER_TIMEOUT), 7000);
  std::vector<Socket> idle(500);
  for (const Socket &one : idle)
    connect(one, found.port);
  EXPECT_FALSE(somebody_at(listener, 200));
  const Socket reader;
  connect(reader, found.port);
  ASSERT_EQ(::send(reader.descriptor, "1234", 4, MSG_NOSIGNAL), 4);
  EXPECT_TRUE(somebody_at(listener, 10'000)) << "who sends is accepted";
}

TEST(PortGuard, TakesHosts) {
  const Networks stranger = networks({"192.0.2.7"});
  EXPECT_FALSE(PortGuard::allows(stranger));
  const auto before = tcp_listeners();
  const Socket listener;
  PortGuard::add({listen(listener, before)}, 7);
  EXPECT_TRUE(PortGuard::allows(networks(own_addresses())));
  PortGuard::allow(stranger);
  EXPECT_TRUE(PortGuard::allows(stranger));
  EXPECT_FALSE(PortGuard::allows(networks({"192.0.2.8"})));
  Networks crowd; // more than a filter of the system can hold
  for (std::uint32_t number = 0; number < 2000; ++number)
    crowd.insert({0x0a000000 + number});
  PortGuard::allow(crowd);
  EXPECT_EQ(PortGuard::problem(), "the ports of ADIOS2 are open to all hosts (there are too many hosts)");
}

TEST(TcpSockets, WaitsForAHostThatIsSilentAreShort) {
  const auto before = tcp_listeners();
  const Socket listener, ours, of_adios2;
  const int port = listen(listener, before).port;
  connect(ours, port);
  connect(of_adios2, port);
  const linger minute{1, 60};
  ASSERT_EQ(::setsockopt(of_adios2.descriptor, SOL_SOCKET, SO_LINGER, &minute, sizeof minute), 0);
  limit_waits(3);
  linger found{};
  socklen_t size = sizeof found;
  ASSERT_EQ(::getsockopt(of_adios2.descriptor, SOL_SOCKET, SO_LINGER, &found, &size), 0);
  EXPECT_EQ(found.l_linger, 1);
  EXPECT_EQ(option(of_adios2, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
  EXPECT_EQ(option(ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 0) << "a socket of somebody else";
  int seen = 0;
  for (const auto &one : tcp_connections()) {
    seen += one.descriptor == ours.descriptor || one.descriptor == of_adios2.descriptor ? 1 : 0;
    EXPECT_EQ(one.of_adios2, one.descriptor == of_adios2.descriptor);
    if (one.of_adios2)
      cut(one);
  }
  EXPECT_EQ(seen, 2);
  ASSERT_EQ(::getsockopt(of_adios2.descriptor, SOL_SOCKET, SO_LINGER, &found, &size), 0);
  EXPECT_EQ(found.l_linger, 0) << "close(2) must not wait for a host that is gone";
}

TEST(StreamEnd, RanksThatADIOS2CannotTellApart) {
  StreamEnd end;
  end.ranks = {{"a", 100}, {"a", 101}, {"b", 200}, {"b", 201}};
  EXPECT_NO_THROW(end.check_distinct("run", false));
  end.ranks.push_back({"c", 102}); // the clock of c may be a second behind
  EXPECT_THROW(end.check_distinct("run", false), tailrace::IoError);
  EXPECT_NO_THROW(end.check_distinct("run", true)) << "the ADIOS2 of tools/build_adios2.sh";
  end.ranks = {{"a", 100}, {"a", 100}}; // two containers of one name
  EXPECT_THROW(end.check_distinct("run", false), tailrace::IoError);
}

} // namespace
