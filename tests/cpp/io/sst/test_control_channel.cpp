// Tests of the control channel of streams without ADIOS2: the messages of readers, and connections from other programs.
// The tests run on one rank.

#include <tailrace/io/sst/control/reader_channels.hpp>
#include <tailrace/io/sst/control/writer_channel.hpp>
#include <tailrace/io/sst/steps/missed_steps.hpp>
#include <tailrace/io/sst/steps/step_ledger.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

using namespace tailrace::io;
using nlohmann::json;

namespace {

const std::vector<std::string> here{"127.0.0.1"};

/// A client that can send any text.
class RawClient {
public:
  explicit RawClient(int port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
  }
  ~RawClient() { ::close(descriptor_); }
  RawClient(const RawClient &) = delete;
  RawClient &operator=(const RawClient &) = delete;
  void say(const std::string &text) const {
    ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

private:
  int descriptor_;
};

/// A reader that has called, was let in, and says who it is.
void enter(WriterChannel &reader, ReaderChannels &channels, int ranks, const std::set<std::string> &connections,
           std::int64_t given = 0) {
  reader.connect(here, channels.port());
  reader.call("token", here);
  channels.drain(1, given);
  channels.welcome();
  EXPECT_TRUE(reader.welcome(5));
  reader.hello(ranks, connections);
}

void drain(ReaderChannels &channels, std::int64_t given) {
  for (int i = 0; i < 5; ++i)
    channels.drain(0.02, given);
}

TEST(ControlChannel, TellsWhoIsBehind) {
  ReaderChannels channels("token");
  ASSERT_GT(channels.port(), 0) << channels.problem();
  WriterChannel reader;
  reader.connect({"not an address", "127.0.0.1"}, channels.port());
  ASSERT_TRUE(reader.connected());
  drain(channels, 3);
  EXPECT_FALSE(channels.any_callers()) << "a connection without a word is not accepted";
  reader.call("token", {"10.1.2.3", "nonsense"});
  drain(channels, 3);
  ASSERT_TRUE(channels.any_callers());
  EXPECT_EQ(channels.callers(), known_networks({"10.1.2.3", "127.0.0.1"})) << "what it says, and where it comes from";
  EXPECT_FALSE(channels.somebody_silent());
  EXPECT_FALSE(reader.welcome(0));
  channels.welcome();
  EXPECT_TRUE(reader.welcome(5));
  EXPECT_FALSE(channels.any_callers());
  EXPECT_TRUE(channels.somebody_silent());
  EXPECT_FALSE(channels.any());

  reader.hello(4, {"10.1.2.3:1234"});
  drain(channels, 3);
  ASSERT_TRUE(channels.any());
  EXPECT_FALSE(channels.somebody_silent());
  EXPECT_EQ(channels.readers()[0].side.ranks, 4);
  EXPECT_EQ(channels.readers()[0].side.process, ::getpid());
  EXPECT_EQ(channels.readers()[0].connections, std::set<std::string>{"10.1.2.3:1234"});
  EXPECT_EQ(channels.behind(3), 0) << "what went out before it came is not for it";
  EXPECT_EQ(channels.behind(5), 2);

  reader.done(4, 0, 1.0, 0.25, 0.5);
  reader.done(7, 4, 2.0, 0.25, 0.5);
  drain(channels, 8);
  EXPECT_EQ(channels.behind(8), 1);
  EXPECT_EQ(channels.readers()[0].side.steps, 2);
  EXPECT_EQ(channels.readers()[0].side.compute, 3.0);
  EXPECT_EQ(channels.readers()[0].side.wait, 0.5);
  EXPECT_EQ(channels.readers()[0].side.transfer, 1.0);
  EXPECT_EQ(channels.take_gaps(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 7}}));
  EXPECT_TRUE(channels.take_gaps().empty());

  reader.leave();
  drain(channels, 8);
  EXPECT_FALSE(channels.any());
  EXPECT_EQ(channels.readers()[0].side.state, "closed");
}

TEST(ControlChannel, WhoIsThereAtTheEndHasClosed) {
  ReaderChannels channels("token");
  WriterChannel there;
  enter(there, channels, 2, {});
  drain(channels, 0);
  {
    WriterChannel lost;
    enter(lost, channels, 1, {});
    drain(channels, 0);
    ASSERT_EQ(channels.readers().size(), 2);
  }
  channels.end(3);
  EXPECT_FALSE(channels.any());
  EXPECT_EQ(channels.readers()[0].side.state, "closed");
  EXPECT_EQ(channels.readers()[1].side.state, "lost");
}

TEST(ControlChannel, LateReadersAreThoseWithWorkThatSayNothing) {
  ReaderChannels channels("token");
  WriterChannel good, bad;
  for (auto *one : {&good, &bad}) {
    enter(*one, channels, 1, {});
    drain(channels, 0);
  }
  const auto begin = ReaderChannels::Clock::now();
  good.done(2, 1, 0, 0, 0);
  bad.done(1, 0, 0, 0, 0);
  drain(channels, 2);
  EXPECT_TRUE(channels.late(0, 2, 60, begin).empty());
  EXPECT_EQ(channels.late(0, 2, 0, begin), std::vector<std::size_t>{1});
  EXPECT_TRUE(channels.late(1, 2, 0, begin).empty()) << "one step is no more than one";
  EXPECT_TRUE(channels.late(0, 2, 60, {}).empty()) << "it has said something since";
  channels.drop(1);
  EXPECT_EQ(channels.readers()[1].side.state, "dropped");
  EXPECT_EQ(channels.behind(2), 0);
  ::usleep(50'000);
  EXPECT_TRUE(bad.dropped());
  EXPECT_FALSE(good.dropped());
}

TEST(ControlChannel, AStepGivesTimeToThoseWhoHadDoneAllOthers) {
  ReaderChannels channels("token");
  WriterChannel idle, slow;
  for (auto *one : {&idle, &slow}) {
    enter(*one, channels, 1, {});
    drain(channels, 0);
  }
  idle.done(3, 2, 0, 0, 0);
  slow.done(2, 1, 0, 0, 0);
  drain(channels, 3);
  const auto before = ReaderChannels::Clock::now();
  channels.note_given(4);
  EXPECT_GE(channels.readers()[0].heard, before) << "it had no work until now, however long that was";
  EXPECT_LT(channels.readers()[1].heard, before) << "it had";
}

TEST(ControlChannel, EveryStepThatAReaderDidNotGetIsAGap) {
  ReaderChannels channels("token");
  WriterChannel reader;
  enter(reader, channels, 1, {});
  std::int64_t before = 0;
  for (const std::int64_t number : {1, 2, 4, 7}) {
    reader.done(number, before, 0, 0, 0);
    before = number;
  }
  drain(channels, 7);
  EXPECT_EQ(channels.take_gaps(), (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 4}, {4, 7}}));
}

TEST(ControlChannel, AStepThatWasNeverGivenIsNotDone) {
  ReaderChannels channels("token");
  WriterChannel reader;
  enter(reader, channels, 1, {}, 3);
  drain(channels, 3);
  ASSERT_TRUE(channels.any());
  for (const std::int64_t number : {6, 0, -1})
    reader.done(number, 1, 1.0, 1.0, 1.0);
  drain(channels, 5);
  EXPECT_EQ(channels.behind(5), 2) << "else the writer would never wait for it";
  EXPECT_EQ(channels.unreported(5, 0), std::vector<std::size_t>{0});
  EXPECT_EQ(channels.readers()[0].side.steps, 0);
  EXPECT_TRUE(channels.take_gaps().empty());
  reader.done(5, 4, 1.0, 1.0, 1.0);
  drain(channels, 5);
  EXPECT_EQ(channels.behind(5), 0);
}

TEST(ControlChannel, SurvivesOtherClients) {
  ReaderChannels channels("token");
  WriterChannel reader;
  enter(reader, channels, 1, {});
  const std::string version = std::to_string(channel_version);
  const RawClient silent(channels.port());
  for (const std::string &text :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\xff\0\xfe\n", 4), std::string("[]\n"), std::string("{}\n"),
        std::string("{\"token\": \"to"), std::string(1 << 20, 'x'), std::string("{\"token\": 7, \"version\": \"x\"}\n"),
        std::string("{\"token\": \"other\", \"version\": " + version + "}\n"),
        std::string("{\"token\": \"token\", \"version\": 99}\n"), std::string(100'000, '\n')}) {
    const RawClient client(channels.port());
    client.say(text);
    drain(channels, 1);
  }
  std::vector<std::unique_ptr<RawClient>> many; // more connections than the channel accepts
  for (int number = 0; number < 300; ++number) {
    many.push_back(std::make_unique<RawClient>(channels.port()));
    if (number >= 200)
      many.back()->say("{");
    if (number % 20 == 0)
      drain(channels, 1);
  }
  WriterChannel late; // comes behind them all
  late.connect(here, channels.port());
  late.call("token", here);
  drain(channels, 1);
  EXPECT_TRUE(channels.any_callers());
  late.leave();
  many.clear();
  drain(channels, 1);
  EXPECT_FALSE(channels.any_callers());
  ASSERT_EQ(channels.readers().size(), 1U);
  // A client that knows the token but sends invalid messages.
  const RawClient liar(channels.port());
  liar.say("{\"token\": \"token\", \"version\": " + version + ", \"addresses\": [7, {}]}\n" +
           "{\"ports\": {\"a\": 1}, \"ranks\": \"many\"}\n" +
           "{\"done\": 99999999999, \"compute\": \"long\"}\n{\"done\": 1, \"compute\": -1e300, \"left\": 7}\n");
  drain(channels, 1);
  ASSERT_EQ(channels.readers().size(), 2U);
  EXPECT_EQ(channels.readers()[1].done, 1);
  EXPECT_EQ(channels.readers()[1].side.compute, 0);
  reader.done(1, 0, 1, 1, 1);
  drain(channels, 1);
  EXPECT_EQ(channels.readers()[0].side.steps, 1);
}

TEST(ControlChannel, AReaderFindsNobody) {
  int port = 0;
  {
    const ReaderChannels gone("token");
    port = gone.port();
  }
  WriterChannel reader;
  reader.connect(here, port);
  reader.connect(here, 0);
  reader.connect({}, port);
  EXPECT_FALSE(reader.connected());
  reader.call("token", here); // without a connection, these calls do nothing
  EXPECT_FALSE(reader.welcome(0));
  reader.hello(1, {});
  reader.done(1, 0, 0, 0, 0);
  reader.leave();
  EXPECT_FALSE(reader.dropped());
}

TEST(ControlChannel, AReaderIsLostWhenItsConnectionEnds) {
  ReaderChannels channels("token");
  {
    WriterChannel reader;
    enter(reader, channels, 1, {});
  }
  drain(channels, 0);
  ASSERT_EQ(channels.readers().size(), 1U);
  EXPECT_EQ(channels.readers()[0].side.state, "lost");
  EXPECT_EQ(channels.behind(10), 0);
}

TEST(ControlChannel, NoSocketCostsTheChannelOnly) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  ReaderChannels channels("token");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(channels.port(), 0);
  EXPECT_NE(channels.problem().find("no control channel (Too many open files): readers"), std::string::npos);
  channels.drain(0.01, 1);
  EXPECT_FALSE(channels.any());
  EXPECT_EQ(channels.behind(7), 0);
}

TEST(ControlChannel, TakesReadersAgainWhenThereAreDescriptors) {
  ReaderChannels channels("token");
  ASSERT_EQ(channels.problem(), "");
  WriterChannel reader;
  reader.connect(here, channels.port());
  reader.call("token", here);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  const int next = ::dup(0);
  ::close(next);
  none.rlim_cur = static_cast<rlim_t>(next); // all below are in use
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  channels.drain(1, 0);
  const auto begin = ReaderChannels::Clock::now();
  channels.drain(0.3, 0);
  const auto took = ReaderChannels::Clock::now() - begin;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_GE(took, std::chrono::milliseconds(290)) << "it does not ask again and again";
  EXPECT_NE(channels.problem().find("could not take a connection (Too many open files)"), std::string::npos)
      << channels.problem();
  EXPECT_NE(channels.problem().find("ulimit -n"), std::string::npos) << channels.problem();
  EXPECT_FALSE(channels.any_callers());
  for (int attempt = 0; attempt < 50 && !channels.any_callers(); ++attempt)
    channels.drain(0.1, 0);
  EXPECT_TRUE(channels.any_callers());
}

TEST(StepLedger, TellReadersWhatTheyMiss) {
  StepLedger records;
  MissedSteps missed;
  records.left_out({0, 0}, "unread");
  records.give({10, 1});
  missed.take(records.recent());
  EXPECT_TRUE(missed.since().list().empty()) << "that was before it came";
  for (const std::int64_t index : {20, 30, 40, 45, 47})
    records.left_out({index, 0.1}, index < 45 ? "dropped" : "skipped");
  records.give({50, 5});
  records.give({60, 6});
  records.left_out({70, 7}, "dropped");
  records.give({80, 8});
  missed.take(records.recent()); // ADIOS2 has left out steps 50 and 60
  EXPECT_EQ(missed.since().list(), (std::vector<std::int64_t>{20, 30, 40, 45, 47, 50, 60, 70}));
  EXPECT_EQ(missed.number(), 4);
  EXPECT_EQ(missed.before(), 1);
  records.lost_between(1, 4);
  records.lost_between(1, 4); // reported by a second reader
  std::vector<std::int64_t> indices;
  for (const auto &one : records.all())
    indices.push_back(one.index);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{0, 20, 30, 40, 45, 47, 50, 60, 70}));
  EXPECT_EQ(records.count("dropped"), 6);
  EXPECT_EQ(records.count("skipped"), 2);
  EXPECT_EQ(records.count("unread"), 1);
  // More steps are lost than the message can list. The reader still counts them.
  for (std::int64_t index = 100; index < 130; ++index)
    records.give({index, 0});
  const std::int64_t before = missed.all();
  missed.take(records.recent());
  EXPECT_EQ(missed.all() - before, 29);
}

TEST(StepLedger, StayWithinBounds) {
  IndexRanges runs;
  for (std::int64_t index = 0; index < 1'000'000; ++index)
    runs.add(3 * index);
  EXPECT_EQ(runs.to_json(), json::parse("[1000000, [0, 3, 1000000]]"));
  IndexRanges squares;
  for (std::int64_t index = 0; index < 10'000; ++index)
    squares.add(index * index);
  EXPECT_EQ(squares.count(), 10'000);
  EXPECT_LE(squares.to_json().size(), IndexRanges::most_ranges + 1);
  const auto found = squares.list();
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], static_cast<std::int64_t>(i * i));
  EXPECT_EQ(IndexRanges::from_json(squares.to_json()).list(), found);
  StepLedger records;
  for (std::int64_t index = 0; index < 100'010; ++index)
    records.left_out({index, 0}, "dropped");
  EXPECT_EQ(records.all().size(), StepLedger::most_listed);
  EXPECT_EQ(records.all().front().index, 10);
  EXPECT_EQ(records.count("dropped"), 100'010);
}

} // namespace
