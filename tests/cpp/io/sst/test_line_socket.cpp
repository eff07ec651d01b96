// A socket of lines of JSON, without a stream. The test runs on one rank.

#include <tailrace/io/sst/control/line_socket.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

using namespace tailrace::io;
using nlohmann::json;

TEST(LineSocket, OneThatTakesThePlaceOfAnotherClosesIt) {
  std::array<int, 2> first{}, second{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, first.data()), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, second.data()), 0);
  LineSocket socket(first[0]);
  socket = LineSocket(second[0]);
  char end = 0;
  EXPECT_EQ(::recv(first[1], &end, 1, MSG_DONTWAIT), 0) << "the other side does not see the end";
  socket.send(json{{"a", 1}});
  EXPECT_EQ(::recv(second[1], &end, 1, MSG_DONTWAIT), 1);
  ::close(first[1]);
  ::close(second[1]);
}
