// Tests of what keeps strangers from the ports of ADIOS2. One process is the listener and the strangers. Other hosts
// are in tests/cluster.

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/packet_filter.hpp>
#include <tailrace/io/sst/network/port_guard.hpp>
#include <tailrace/io/sst/network/stream_end.hpp>
#include <tailrace/support/error.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
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

/// So many hosts in two networks, one of them above 128.0.0.0; no two are neighbours.
Networks hosts(std::size_t number) {
  Networks result;
  for (std::uint32_t i = 0; i < number; ++i)
    result.insert({(i % 2 == 0 ? 0x0a000000 : 0xc0a80000) + 4 * i});
  return result;
}

/// What the system does with a packet from there.
bool keeps(const std::vector<sock_filter> &program, std::uint32_t source) {
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter &one = program[at];
    switch (one.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      value = source;
      break;
    case BPF_ALU | BPF_AND | BPF_K:
      value &= one.k;
      break;
    case BPF_ALU | BPF_XOR | BPF_K:
      value ^= one.k;
      break;
    case BPF_JMP | BPF_JEQ | BPF_K:
      at += value == one.k ? one.jt : one.jf;
      break;
    case BPF_RET | BPF_K:
      return one.k != 0;
    default:
      ADD_FAILURE() << "instruction " << one.code;
    }
  }
  ADD_FAILURE() << "the program has no end";
  return false;
}

/// The filter that the system has at a socket.
std::vector<sock_filter> filter_at(const Socket &socket) {
  socklen_t length = 0; // of instructions
  EXPECT_EQ(::getsockopt(socket.descriptor, SOL_SOCKET, SO_GET_FILTER, nullptr, &length), 0);
  std::vector<sock_filter> program(length);
  EXPECT_EQ(::getsockopt(socket.descriptor, SOL_SOCKET, SO_GET_FILTER, program.data(), &length), 0);
  return program;
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

TEST(Networks, AreWidenedToThoseThatAddTheFewest) {
  const Networks five = networks({"10.1.0.1", "10.1.0.2", "10.1.0.3", "10.9.0.1", "192.168.1.1"});
  EXPECT_EQ(widened(five, 5), five);
  EXPECT_EQ(widened(five, 4), networks({"10.1.0.1", "10.1.0.2/31", "10.9.0.1", "192.168.1.1"}));
  EXPECT_EQ(widened(five, 3), networks({"10.1.0.0/30", "10.9.0.1", "192.168.1.1"}));
  EXPECT_EQ(widened(five, 2), networks({"10.0.0.0/12", "192.168.1.1"}));
  EXPECT_EQ(widened(five, 1), networks({"0.0.0.0/0"}));
  EXPECT_EQ(widened(networks({"10.1.0.0/16", "10.1.0.0", "10.1.2.0/24", "10.2.0.0"}), 9),
            networks({"10.1.0.0/16", "10.2.0.0"}));
  EXPECT_EQ(widened({}, 1), Networks{});
  for (const std::size_t most : {1U, 7U, 100U, 999U}) {
    const Networks some = widened(hosts(1000), most);
    EXPECT_LE(some.size(), most);
    EXPECT_TRUE(covers(some, hosts(1000)));
  }
}

TEST(HostFilter, HasOneInstructionForEachHost) {
  const Networks many = hosts(1000);
  const auto program = filter_of(many);
  EXPECT_LE(program.size(), 1020U);
  for (const Network &one : many) {
    ASSERT_TRUE(keeps(program, one.address)) << text_of(one);
    ASSERT_FALSE(keeps(program, one.address + 1)) << text_of(one);
    ASSERT_FALSE(keeps(program, one.address ^ 0x80000000)) << text_of(one);
  }
  const auto mixed = filter_of(networks({"10.1.0.0/16", "10.2.3.4", "192.168.0.0/24", "192.168.7.1"}));
  for (const auto &[address, kept] : std::vector<std::pair<std::uint32_t, bool>>{{0x0a01ffff, true},
                                                                                 {0x0a020000, false},
                                                                                 {0x0a020304, true},
                                                                                 {0xc0a800ff, true},
                                                                                 {0xc0a80701, true},
                                                                                 {0xc0a80101, false},
                                                                                 {0x40a800ff, false}})
    EXPECT_EQ(keeps(mixed, address), kept) << std::hex << address;
  EXPECT_TRUE(keeps(filter_of(networks({"0.0.0.0/0"})), 0xfffffffe));
  EXPECT_FALSE(keeps(filter_of({}), 0x7f000001));
}

/// Runs in a network of its own, where the sockets' memory is that of many systems.
TEST(HostFilter, FitsWhereTheSystemHasLittleRoom) {
  bool possible = false;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0)
      return;
    const char *const limit = "/proc/sys/net/core/optmem_max";
    int found = 0;
    std::ofstream(limit) << 20480;
    std::ifstream(limit) >> found;
    possible = found == 20480; // the network may have no limit of its own
    if (!possible)
      return;
    const Socket listener;
    ASSERT_EQ(::listen(listener.descriptor, 10), 0);
    for (const std::size_t number : {250, 1000, 1001, 2400})
      EXPECT_EQ(set_filter(listener.descriptor, hosts(number)), "") << number;
    EXPECT_EQ(filter_at(listener).size(), filter_of(hosts(2400)).size());
    const std::string said = set_filter(listener.descriptor, hosts(6000));
    EXPECT_NE(said.find("takes no filter for 6000 hosts (Cannot allocate memory)"), std::string::npos) << said;
    EXPECT_NE(said.find("open to networks around them, the largest of which is"), std::string::npos) << said;
    const auto program = filter_at(listener);
    for (const Network &one : hosts(6000))
      ASSERT_TRUE(keeps(program, one.address)) << text_of(one);
    EXPECT_FALSE(keeps(program, 0x08080808));
  }).join();
  if (!possible)
    GTEST_SKIP() << "no network of its own with a limit of its own can be made here";
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
  const std::uint32_t stranger = 0xc0000207, another = 0xc0000208;
  const auto before = tcp_listeners();
  const Socket listener;
  PortGuard::add({listen(listener, before)}, 7);
  for (const Network &own : networks(own_addresses()))
    EXPECT_TRUE(keeps(filter_at(listener), own.address)) << text_of(own);
  EXPECT_FALSE(keeps(filter_at(listener), stranger));
  PortGuard::allow({{stranger}});
  EXPECT_TRUE(keeps(filter_at(listener), stranger));
  EXPECT_FALSE(keeps(filter_at(listener), another));
  EXPECT_EQ(PortGuard::problem(), "");
  PortGuard::allow(hosts(6000)); // more than a filter of the system can hold
  EXPECT_NE(PortGuard::problem().find("the system takes no filter for"), std::string::npos) << PortGuard::problem();
  EXPECT_TRUE(keeps(filter_at(listener), stranger));
  EXPECT_FALSE(keeps(filter_at(listener), 0x08080808)) << "it is not open to all";
}

TEST(PortGuard, LeavesOtherServersAlone) {
  const auto before = tcp_listeners();
  const Socket of_adios2, notebook, reuses;
  sockaddr_in address = loopback();
  ASSERT_EQ(::bind(notebook.descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  const int on = 1;
  ASSERT_EQ(::setsockopt(reuses.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
  for (const Socket *one : {&of_adios2, &reuses})
    ASSERT_EQ(::bind(one->descriptor, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  for (const Socket *one : {&of_adios2, &notebook, &reuses})
    ASSERT_EQ(::listen(one->descriptor, 10), 0);
  PortGuard::watch(before, 7).request_stop();
  EXPECT_GT(option(of_adios2, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
  EXPECT_FALSE(filter_at(of_adios2).empty());
  for (const Socket *one : {&notebook, &reuses}) {
    EXPECT_EQ(option(*one, IPPROTO_TCP, TCP_DEFER_ACCEPT), 0);
    EXPECT_TRUE(filter_at(*one).empty());
  }
}

TEST(PortGuard, TakesAnyTimeLimit) {
  for (const auto &[seconds, most] : std::vector<std::pair<double, int>>{{1e12, 1'000'000'000}, {-1, 1000}}) {
    const auto before = tcp_listeners();
    const Socket listener;
    PortGuard::add({listen(listener, before)}, seconds);
    EXPECT_EQ(option(listener, IPPROTO_TCP, TCP_USER_TIMEOUT), most);
  }
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

TEST(TcpSockets, AreLookedAtOnceInASecond) {
  const auto linger_of = [](const Socket &socket) {
    linger found{};
    socklen_t size = sizeof found;
    EXPECT_EQ(::getsockopt(socket.descriptor, SOL_SOCKET, SO_LINGER, &found, &size), 0);
    return found.l_linger;
  };
  const linger minute{1, 60};
  const Socket early, late;
  WaitLimit waits(3);
  ASSERT_EQ(::setsockopt(early.descriptor, SOL_SOCKET, SO_LINGER, &minute, sizeof minute), 0);
  const auto begin = std::chrono::steady_clock::now();
  waits.at_step();
  EXPECT_EQ(linger_of(early), 1);
  ASSERT_EQ(::setsockopt(late.descriptor, SOL_SOCKET, SO_LINGER, &minute, sizeof minute), 0);
  waits.at_step();
  const int then = linger_of(late);
  EXPECT_TRUE(then == 60 || std::chrono::steady_clock::now() - begin > std::chrono::seconds(1)) << then;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  waits.at_step();
  EXPECT_EQ(linger_of(late), 1);
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
