// Tests of what a writer knows of the readers of its stream, without ADIOS2. The tests run on one rank.

#include <tailrace/io/sst/control/reader_table.hpp>
#include <tailrace/io/sst/control/writer_channel.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace tailrace::io;

namespace {

/// A connection at a port of the stream whose other side takes nothing, so that bytes wait for it.
class StuckConnection {
public:
  StuckConnection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *any = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    EXPECT_EQ(::connect(client_, any, size), 0);
    server_ = ::accept(listener_, nullptr, nullptr);
    const linger second{1, 1}; // by which connections of ADIOS2 are known
    EXPECT_EQ(::setsockopt(server_, SOL_SOCKET, SO_LINGER, &second, sizeof second), 0);
    EXPECT_EQ(::getsockname(client_, any, &size), 0);
    client_port_ = std::to_string(ntohs(address.sin_port));
    const std::vector<char> much(std::size_t{1} << 20);
    while (::send(server_, much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }
  ~StuckConnection() {
    for (const int one : {listener_, client_, server_})
      ::close(one);
  }
  StuckConnection(const StuckConnection &) = delete;
  StuckConnection &operator=(const StuckConnection &) = delete;
  std::string client() const { return "127.0.0.1:" + client_port_; }          ///< the side that takes nothing
  std::string client_elsewhere() const { return "10.9.8.7:" + client_port_; } ///< the same port of another host

private:
  int listener_ = ::socket(AF_INET, SOCK_STREAM, 0), client_ = ::socket(AF_INET, SOCK_STREAM, 0);
  int server_ = -1;
  std::string client_port_;
};

/// A reader that was let in and admitted.
void enter(WriterChannel &reader, ReaderTable &table, const std::string &connection) {
  reader.connect({"127.0.0.1"}, table.channels().port());
  reader.call("token", {"127.0.0.1"});
  table.channels().drain(1, 0);
  table.channels().welcome();
  EXPECT_TRUE(reader.welcome(5));
  reader.hello(1, {connection});
  table.channels().drain(1, 0);
}

TEST(ReaderTable, ReadersOfOtherProgramsAreThoseThatADIOS2HasAdmitted) {
  ReaderTable table("run", "token", 4);
  AdmittedReaders told{.told = true, .ever = 0, .waiting = 0, .ends = {}};
  table.opened([&] { return told; });
  EXPECT_FALSE(table.any());
  EXPECT_FALSE(table.any_pending());
  told.waiting = 1;
  EXPECT_TRUE(table.any_pending());
  EXPECT_FALSE(table.any()) << "it gets steps only once it is admitted";
  EXPECT_EQ(table.ever_admitted(), 0);
  told = {.told = true, .ever = 1, .waiting = 0, .ends = {"10.9.8.7:4711"}};
  EXPECT_FALSE(table.any_pending());
  EXPECT_TRUE(table.any());
  EXPECT_TRUE(table.admitted_since(0, 0));
  EXPECT_FALSE(table.admitted_since(1, 0));
  told.ends.clear();
  EXPECT_FALSE(table.any()) << "it has left";
}

/// Our own readers say so before ADIOS2 finds out.
TEST(ReaderTable, WhoHasLeftIsNoReaderThoughADIOS2HasItStill) {
  ReaderTable table("run", "token", 4);
  table.opened([] { return AdmittedReaders{.told = true, .ever = 1, .waiting = 0, .ends = {"10.9.8.7:4711"}}; });
  {
    WriterChannel lost;
    enter(lost, table, "10.9.8.7:4711");
    EXPECT_TRUE(table.any());
  }
  table.channels().drain(1, 0);
  EXPECT_EQ(table.channels().readers()[0].side.state, "lost");
  EXPECT_TRUE(table.any()) << "it may still read";
  WriterChannel leaves;
  enter(leaves, table, "10.9.8.7:4711");
  EXPECT_TRUE(table.any());
  leaves.leave();
  table.channels().drain(1, 0);
  EXPECT_FALSE(table.any());
}

/// With an ADIOS2 that does not tell whom it has admitted.
TEST(ReaderTable, OurReadersCountWhenTheySayWhoTheyAre) {
  ReaderTable table("run", "token", 4);
  std::set<std::string> connections;
  table.opened([&] { return AdmittedReaders{.told = false, .ever = 0, .waiting = 0, .ends = connections}; });
  EXPECT_FALSE(table.any());
  WriterChannel reader;
  reader.connect({"127.0.0.1"}, table.channels().port());
  reader.call("token", {"127.0.0.1"});
  table.channels().drain(1, 0);
  EXPECT_FALSE(table.any_pending()) << "it was not let in";
  table.channels().welcome();
  EXPECT_FALSE(table.any_pending()) << "it has not connected";
  connections = {"10.9.8.7:4711"};
  EXPECT_TRUE(table.any_pending());
  EXPECT_FALSE(table.any());
  EXPECT_FALSE(table.admitted_since(0, 0));
  reader.hello(1, connections);
  EXPECT_TRUE(table.admitted_since(0, 0));
  EXPECT_TRUE(table.any());
  EXPECT_FALSE(table.any_pending());
  reader.leave();
  table.channels().drain(1, 0);
  EXPECT_FALSE(table.any()) << "though its connection is there still";
  connections.insert("10.9.8.7:4712");
  EXPECT_TRUE(table.any()) << "a reader of another program counts when it connects";
  EXPECT_FALSE(table.any_pending()) << "nothing is written only to admit it";
}

/// ADIOS2 sends to all readers in one thread, so that one that takes nothing holds up those behind it.
TEST(ReaderTable, WhoeverWasHeldUpHasAllItsTimeOnceTheOtherIsDropped) {
  const StuckConnection connection;
  ReaderTable table("run", "token", 4);
  WriterChannel stuck, other;
  enter(stuck, table, connection.client());
  enter(other, table, connection.client_elsewhere());
  ASSERT_EQ(table.channels().readers().size(), 2U);
  const std::jthread goes_on([&] {
    while (!stuck.dropped())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    other.done(1, 0, 0, 0, 0);
  });
  testing::internal::CaptureStderr();
  table.wait(0, 1, 7);
  const std::string told = testing::internal::GetCapturedStderr(), who = " (process ";
  EXPECT_EQ(told.find(who), told.rfind(who)) << "told more than once: " << told;
  EXPECT_NE(told.find(who), std::string::npos);
  EXPECT_EQ(table.channels().readers()[0].side.state, "dropped");
  EXPECT_EQ(table.channels().readers()[1].side.state, "open");
}

/// The one that takes nothing has said something last, so that the other is late before it.
TEST(ReaderTable, WhoeverIsHeldUpIsNotBlamedForBeingLateFirst) {
  const StuckConnection connection;
  ReaderTable table("run", "token", 3);
  WriterChannel stuck, other;
  enter(other, table, connection.client_elsewhere());
  enter(stuck, table, connection.client());
  const std::jthread goes_on([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stuck.done(1, 0, 0, 0, 0);
    while (!stuck.dropped() && !other.dropped())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    other.done(2, 0, 0, 0, 0);
  });
  table.wait(0, 2, 7);
  EXPECT_EQ(table.channels().readers()[0].side.state, "open");
  EXPECT_EQ(table.channels().readers()[1].side.state, "dropped");
}

/// A connection that takes nothing is no reason to wait for ever for a reader that has done all, or for one that hangs.
TEST(ReaderTable, WhoHangsIsDroppedBesideAnIdleReader) {
  const StuckConnection connection;
  ReaderTable table("run", "token", 1);
  WriterChannel idle, hangs;
  enter(idle, table, connection.client());
  enter(hangs, table, connection.client_elsewhere());
  idle.done(1, 0, 0, 0, 0);
  table.wait(0, 1, 7);
  EXPECT_EQ(table.channels().readers()[0].side.state, "open");
  EXPECT_EQ(table.channels().readers()[1].side.state, "dropped");
}

} // namespace
