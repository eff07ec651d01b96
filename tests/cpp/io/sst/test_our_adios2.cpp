// Tests of what tools/patch_adios2.py adds to ADIOS2, with ADIOS2 itself: a writer in this process, strangers, and a
// reader in another thread.

#include "io/shared_folder.hpp"
#include <tailrace/io/sst/network/our_adios2.hpp>

#include <gtest/gtest.h>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/sst/network/host_guard.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <adios2.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

using namespace tailrace::io;
using tailrace::test::SharedFolder;

namespace {

using namespace std::chrono_literals;

std::atomic<int> asked, answer;

int ask(int, int accepted) {
  asked += accepted;
  return answer;
}

bool within(std::chrono::seconds limit, const auto &condition) {
  for (const auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    if (condition())
      return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

/// A connection that is no part of the stream.
class Stranger {
public:
  explicit Stranger(int port, const char *to = "127.0.0.1") {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, to, &address.sin_addr);
    connected_ = ::connect(descriptor_, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
  }
  ~Stranger() {
    const linger none{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(descriptor_);
  }
  Stranger(const Stranger &) = delete;
  Stranger &operator=(const Stranger &) = delete;
  bool connected() const { return connected_; }
  /// As an EVPath does: the port at which it listens.
  void say_hello() const { EXPECT_EQ(::send(descriptor_, "\0\0\0\0", 4, MSG_NOSIGNAL), 4); }
  bool ended(std::chrono::milliseconds limit) const {
    pollfd one{descriptor_, POLLIN, 0};
    char byte = 0;
    return ::poll(&one, 1, static_cast<int>(limit.count())) == 1 && ::recv(descriptor_, &byte, 1, 0) <= 0;
  }

private:
  int descriptor_ = ::socket(AF_INET, SOCK_STREAM, 0);
  bool connected_ = false;
};

class OurADIOS2 : public testing::Test {
protected:
  void SetUp() override {
    if (!adios2_is_patched())
      GTEST_SKIP() << "this ADIOS2 is not the one of tools/build_adios2.sh";
    asked = 0;
    answer = 1;
    ask_about_sockets(ask);
  }
  adios2::Engine open(adios2::ADIOS &adios, adios2::Mode mode, const std::string &interface = "") const {
    adios2::IO io = adios.DeclareIO("run");
    io.SetEngine("SST");
    io.SetParameters({{"DataTransport", "WAN"}, {"RendezvousReaderCount", "0"}, {"OpenTimeoutSecs", "20"}});
    if (!interface.empty())
      io.SetParameter("NetworkInterface", interface);
    return io.Open(std::string(place_) + "/run", mode);
  }
  SharedFolder place_;
  adios2::ADIOS adios_;
};

TEST_F(OurADIOS2, AsksAboutConnectionsThatSaySomething) {
  auto engine = open(adios_, adios2::Mode::Write);
  const int port = adios2_port();
  ASSERT_GT(port, 0);
  const Stranger idle(port), early(port), late(port);
  for (const auto *one : {&idle, &early, &late})
    ASSERT_TRUE(one->connected());
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(asked, 0) << "who sends nothing is not accepted";
  answer = 0;
  early.say_hello();
  EXPECT_TRUE(early.ended(10s)) << "it is refused";
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(accepted_connections().empty());
  answer = 1;
  late.say_hello();
  EXPECT_TRUE(within(10s, [] { return accepted_connections().size() == 1; }));
  EXPECT_FALSE(late.ended(300ms)) << "it is let in";
  EXPECT_EQ(asked, 2);
  engine.Close();
}

TEST_F(OurADIOS2, SocketsHaveTheirTimeLimitFromTheBeginning) {
  HostGuard::begin(7);
  auto engine = open(adios_, adios2::Mode::Write);
  const Stranger stranger(adios2_port());
  stranger.say_hello();
  ASSERT_TRUE(within(10s, [] { return accepted_connections().size() == 1; })) << "this host is let in";
  int milliseconds = 0;
  socklen_t size = sizeof milliseconds;
  const int accepted = accepted_connections().at(0).descriptor;
  EXPECT_EQ(::getsockopt(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &size), 0);
  EXPECT_EQ(milliseconds, 7000);
  linger wait{};
  size = sizeof wait;
  EXPECT_EQ(::getsockopt(accepted, SOL_SOCKET, SO_LINGER, &wait, &size), 0);
  EXPECT_EQ(wait.l_onoff, 1);
  EXPECT_EQ(wait.l_linger, 1);
  engine.Close();
}

/// The address of the loopback interface is 127.0.0.1, and 127.0.0.2 leads to this host too.
TEST_F(OurADIOS2, ListensAtTheChosenInterfaceOnly) {
  auto chosen = open(adios_, adios2::Mode::Write, "lo");
  const int port = adios2_port();
  EXPECT_TRUE(Stranger(port).connected());
  EXPECT_FALSE(Stranger(port, "127.0.0.2").connected());
  adios2::ADIOS other;
  const SharedFolder elsewhere;
  adios2::IO io = other.DeclareIO("run");
  io.SetEngine("SST");
  io.SetParameters({{"RendezvousReaderCount", "0"}, {"DataTransport", "WAN"}});
  auto all = io.Open(std::string(elsewhere) + "/run", adios2::Mode::Write);
  EXPECT_NE(adios2_port(), port) << "a second stream of the process is not bound to the interface of the first";
  EXPECT_TRUE(Stranger(adios2_port(), "127.0.0.2").connected());
  all.Close();
  chosen.Close();
}

TEST_F(OurADIOS2, TellsWhichReadersItHasAdmitted) {
  auto engine = open(adios_, adios2::Mode::Write);
  const AskReaders readers = readers_of_last_stream();
  ASSERT_TRUE(readers);
  EXPECT_EQ(readers().ever, 0);
  EXPECT_EQ(readers().waiting, 0);
  const Stranger stranger(adios2_port());
  stranger.say_hello();
  std::atomic<bool> opened = false, leave = false;
  std::thread reader([&] {
    adios2::ADIOS adios;
    auto source = open(adios, adios2::Mode::Read);
    opened = true;
    EXPECT_TRUE(within(20s, [&] { return leave.load(); }));
    source.Close();
  });
  EXPECT_TRUE(within(20s, [&] { return readers().waiting == 1; })) << "it has registered, and the stranger has not";
  EXPECT_EQ(readers().ever, 0);
  EXPECT_FALSE(opened);
  engine.BeginStep();
  engine.EndStep();
  EXPECT_EQ(readers().ever, 1);
  EXPECT_EQ(readers().waiting, 0);
  const auto ends = readers().ends;
  ASSERT_EQ(ends.size(), 1U);
  bool found = false;
  for (const auto &one : tcp_connections())
    found = found || (one.local == *ends.begin() && !one.accepted);
  EXPECT_TRUE(found) << "the reader's end of its connection";
  EXPECT_TRUE(within(20s, [&] { return opened.load(); }));
  leave = true;
  reader.join();
  EXPECT_TRUE(within(20s, [&] { return readers().ends.empty(); })) << "it has left";
  EXPECT_EQ(readers().ever, 1);
  engine.Close();
}

} // namespace

#endif

TEST(AnotherADIOS2, IsToBeUsedOnATrustedNetwork) {
  EXPECT_EQ(tailrace::io::adios2_note(true), "");
  const std::string note = tailrace::io::adios2_note(false);
  EXPECT_NE(note.find("use it on a trusted network only"), std::string::npos) << note;
  EXPECT_NE(note.find("does not tell when it admits a reader"), std::string::npos) << note;
}
