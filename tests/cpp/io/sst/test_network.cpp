// Tests of what a stream knows of hosts and sockets: networks, who may connect, time limits. One process is the
// listener and the strangers. Other hosts are in tests/cluster.

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/host_guard.hpp>
#include <tailrace/io/sst/network/stream_end.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>
#include <tailrace/support/error.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
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

/// Returns the port.
int listen(const Socket &socket) {
  sockaddr_in address = loopback();
  socklen_t size = sizeof address;
  auto *any = reinterpret_cast<sockaddr *>(&address);
  EXPECT_EQ(::bind(socket.descriptor, any, size), 0);
  EXPECT_EQ(::listen(socket.descriptor, 10), 0);
  EXPECT_EQ(::getsockname(socket.descriptor, any, &size), 0);
  return ntohs(address.sin_port);
}

void connect(const Socket &socket, int port) {
  const sockaddr_in address = loopback(port);
  ASSERT_EQ(::connect(socket.descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
}

template <class T = int> T option(const Socket &socket, int level, int name) {
  T value{};
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.descriptor, level, name, &value, &size), 0);
  return value;
}

void linger_as_adios2(const Socket &socket) {
  const linger minute{1, 60};
  ASSERT_EQ(::setsockopt(socket.descriptor, SOL_SOCKET, SO_LINGER, &minute, sizeof minute), 0);
}

TEST(Networks, AreReadAndCompared) {
  EXPECT_EQ(networks_from(" 10.1.2.3, 10.2.255.1/16 any"), networks({"10.1.2.3", "10.2.0.0/16", "0.0.0.0/0"}));
  EXPECT_EQ(networks_from(""), Networks{});
  EXPECT_EQ(networks_from("localhost").count({0x7f000001}), 1U);
  EXPECT_EQ(text_of(*networks({"10.2.255.1/17"}).begin()), "10.2.128.0/17");
  for (const Network &one : networks({"10.1.2.3", "10.2.0.0/17", "0.0.0.0/0"})) // as contact files have them
    EXPECT_EQ(networks({text_of(one)}), Networks{one}) << text_of(one);
  for (const std::string wrong : {"10.1.2.3/33", "10.1.2.3/", "10.1.2.3/x", "no such host!", "1.2.3.4.5"})
    EXPECT_THROW(networks_from(wrong), tailrace::InputError) << wrong;
  EXPECT_TRUE(networks({"10.1.2.3/33", "::1", ""}).empty());
  EXPECT_TRUE(covers(networks({"10.1.0.0/16", "10.3.0.1"}), networks({"10.1.2.3", "10.3.0.1", "10.1.128.0/17"})));
  EXPECT_FALSE(covers(networks({"10.1.0.0/16"}), networks({"10.1.2.3", "10.2.2.3"})));
  EXPECT_FALSE(covers(networks({"10.1.0.0/16"}), networks({"10.0.0.0/8"})));
  EXPECT_TRUE(covers(networks({"0.0.0.0/0"}), networks({"10.0.0.0/8"})));
  EXPECT_TRUE(covers({}, {}));
}

TEST(Networks, TheHostAtTheOtherEnd) {
  const Socket listener, client, alone;
  connect(client, listen(listener));
  const Socket server(::accept(listener.descriptor, nullptr, nullptr));
  EXPECT_EQ(peer_network(server.descriptor), networks({"127.0.0.1"}));
  EXPECT_EQ(peer_network(client.descriptor), networks({"127.0.0.1"}));
  EXPECT_EQ(peer_network(alone.descriptor), Networks{});
  EXPECT_EQ(peer_of(alone.descriptor), "");
}

TEST(HostGuard, AdmitsThisHostAndThoseThatAreAllowed) {
  const Networks stranger = networks({"192.0.2.7"}), another = networks({"192.0.2.8"});
  EXPECT_FALSE(HostGuard::admits(networks({"127.0.0.1"}))) << "nobody, before it has begun";
  HostGuard::begin(7);
  for (const std::string &own : own_addresses())
    EXPECT_TRUE(HostGuard::admits(networks({own}))) << own;
  EXPECT_TRUE(HostGuard::admits(networks({"127.1.2.3"})));
  EXPECT_FALSE(HostGuard::admits(stranger));
  EXPECT_FALSE(HostGuard::admits({})) << "who has left already";
  HostGuard::allow(stranger);
  EXPECT_TRUE(HostGuard::admits(stranger));
  EXPECT_FALSE(HostGuard::admits(another));
  HostGuard::begin(7);
  EXPECT_TRUE(HostGuard::admits(stranger)) << "another stream takes nothing away";
  HostGuard::allow(networks({"10.7.0.0/16"}));
  EXPECT_TRUE(HostGuard::admits(networks({"10.7.255.255"})));
  EXPECT_FALSE(HostGuard::admits(networks({"10.8.0.0"})));
}

/// The hosts of a large run: each of them, and no other.
TEST(HostGuard, TakesThousandsOfHosts) {
  Networks many;
  for (std::uint32_t i = 0; i < 6000; ++i)
    many.insert({(i % 2 == 0 ? 0x0a000000 : 0xc0a80000) + 4 * i});
  HostGuard::begin(7);
  HostGuard::allow(many);
  for (const Network &one : many) {
    ASSERT_TRUE(HostGuard::admits({one})) << text_of(one);
    ASSERT_FALSE(HostGuard::admits({{one.address + 1}})) << text_of(one);
    ASSERT_FALSE(HostGuard::admits({{one.address ^ 0x80000000}})) << text_of(one);
  }
}

TEST(TcpSockets, AreThoseOfADIOS2) {
  const Socket listener, notebook, of_adios2;
  const int port = listen(listener);
  connect(notebook, port);
  connect(of_adios2, port);
  const Socket first(::accept(listener.descriptor, nullptr, nullptr));
  const Socket second(::accept(listener.descriptor, nullptr, nullptr));
  linger_as_adios2(of_adios2);
  linger_as_adios2(second);
  const auto found = tcp_connections();
  ASSERT_EQ(found.size(), 2U);
  for (const auto &one : found) {
    EXPECT_TRUE(one.descriptor == of_adios2.descriptor || one.descriptor == second.descriptor);
    EXPECT_EQ(one.accepted, one.descriptor == second.descriptor);
    EXPECT_EQ(one.peer, peer_of(one.descriptor));
  }
  EXPECT_EQ(found[0].local, found[1].peer);
  const auto accepted = accepted_connections();
  ASSERT_EQ(accepted.size(), 1U);
  EXPECT_EQ(accepted[0].descriptor, second.descriptor);
  cut(accepted[0]);
  EXPECT_EQ(option<linger>(second, SOL_SOCKET, SO_LINGER).l_linger, 0)
      << "close(2) must not wait for a host that is gone";
  char byte = 0;
  EXPECT_LE(::recv(of_adios2.descriptor, &byte, 1, 0), 0) << "the other side sees an end";
}

TEST(TcpSockets, WaitsForAHostThatIsSilentAreShort) {
  const Socket listener, ours, of_adios2;
  const int port = listen(listener);
  connect(ours, port);
  connect(of_adios2, port);
  linger_as_adios2(of_adios2);
  limit_waits(3);
  EXPECT_EQ(option<linger>(of_adios2, SOL_SOCKET, SO_LINGER).l_linger, 1);
  EXPECT_EQ(option(of_adios2, IPPROTO_TCP, TCP_USER_TIMEOUT), 3000);
  EXPECT_EQ(option(ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 0) << "a socket of somebody else";
}

TEST(TcpSockets, TakeAnyTimeLimit) {
  for (const auto &[seconds, most] : std::vector<std::pair<double, int>>{{1e12, 1'000'000'000}, {-1, 1000}}) {
    const Socket socket;
    limit_wait(socket.descriptor, seconds);
    EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), most);
  }
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
