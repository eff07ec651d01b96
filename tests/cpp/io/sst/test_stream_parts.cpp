// Parts of streams that need no stream: lists of steps, who writes a stream, when readers count, what a side tells.
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/sst/control/coupling_json.hpp>
#include <tailrace/io/sst/network/contact_file.hpp>
#include <tailrace/io/sst/steps/missed_steps.hpp>
#include <tailrace/io/sst/steps/step_ledger.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/process_identity.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

IndexRanges ranges_of(const std::vector<std::int64_t> &indices) {
  IndexRanges ranges;
  for (const std::int64_t index : indices)
    ranges.add(index);
  return ranges;
}

TEST(IndexRanges, IndicesOfOneDistanceAreOneRange) {
  EXPECT_EQ(ranges_of({}).to_json(), json::parse("[0]"));
  EXPECT_EQ(ranges_of({7}).to_json(), json::parse("[1, [7, 0, 1]]"));
  EXPECT_EQ(ranges_of({7, 9}).to_json(), json::parse("[2, [7, 2, 2]]"));
  EXPECT_EQ(ranges_of({7, 9, 12, 15, 18, 19}).to_json(), json::parse("[6, [7, 2, 2], [12, 3, 3], [19, 0, 1]]"));
}

TEST(IndexRanges, LaterOnesAreAppended) {
  const auto joined = [](const std::vector<std::int64_t> &first, const std::vector<std::int64_t> &later) {
    IndexRanges ranges = ranges_of(first);
    ranges.add(ranges_of(later));
    return ranges.to_json();
  };
  EXPECT_EQ(joined({0, 2, 4}, {6, 8}), json::parse("[5, [0, 2, 5]]"));
  EXPECT_EQ(joined({0, 2, 4}, {6}), json::parse("[4, [0, 2, 4]]"));
  EXPECT_EQ(joined({0}, {6, 12}), json::parse("[3, [0, 6, 3]]"));
  EXPECT_EQ(joined({0}, {6, 8}), json::parse("[3, [0, 0, 1], [6, 2, 2]]"));
  EXPECT_EQ(joined({0, 2, 4}, {7, 9}), json::parse("[5, [0, 2, 3], [7, 2, 2]]"));
  EXPECT_EQ(joined({0, 2, 4}, {6, 9}), json::parse("[5, [0, 2, 3], [6, 3, 2]]"));
}

TEST(IndexRanges, ThoseThatAreNotListedAreCounted) {
  IndexRanges ranges = ranges_of({0});
  ranges.add(IndexRanges::from_json(json::parse("[9, [1, 1, 4]]")));
  EXPECT_EQ(ranges.count(), 10);
  EXPECT_EQ(ranges.list(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  ranges.clear();
  EXPECT_EQ(ranges.count(), 0);
  EXPECT_TRUE(ranges.list().empty());
  for (std::int64_t index = 0; index < 1002; ++index) // no two distances are equal
    ranges.add(index * index * index);
  EXPECT_EQ(ranges.count(), 1002);
  const auto many = IndexRanges::from_json(json::parse("[3000000, [0, 1, 999999], [5000000, 1, 2000001]]")).list();
  ASSERT_EQ(many.size(), 1'000'000u);
  EXPECT_EQ(many.back(), 5'000'000);
  for (const char *wrong : {"[]", "[1.5]", "[1, [0, 1]]", "[1, 2]", R"(["1"])", "{}", "null"})
    EXPECT_THROW(IndexRanges::from_json(json::parse(wrong)), json::exception) << wrong;
}

TEST(MissedSteps, AreThoseBetweenTheStepsThatCome) {
  MissedSteps missed;
  EXPECT_THROW(missed.take(json::parse("[[1.5, 10, [0]]]")), json::exception);
  missed.take(json::parse("[[3, 30, [1, [20, 0, 1]]]]"));
  EXPECT_EQ(missed.number(), 3);
  EXPECT_EQ(missed.before(), 0);
  EXPECT_EQ(missed.all(), 0) << "what was before the first step was not missed";
  missed.take(json::parse("[[3, 30, [1, [20, 0, 1]]], [4, 40, [0]]]"));
  EXPECT_EQ(missed.all(), 0);
  EXPECT_EQ(missed.before(), 3);
  missed.take(json::parse("[[4, 40, [0]], [5, 50, [1, [45, 0, 1]]], [6, 60, [0]]]"));
  EXPECT_EQ(missed.since().list(), (std::vector<std::int64_t>{45, 50}));
  EXPECT_EQ(missed.all(), 2);
  missed.take(json::parse("[[9, 90, [0]], [10, 100, [2, [92, 2, 2]]]]"));
  EXPECT_EQ(missed.since().list(), (std::vector<std::int64_t>{90, 92, 94}));
  EXPECT_EQ(missed.all(), 2 + 3 + 2) << "7 and 8 are too long ago to be listed";
}

TEST(StepLedger, TellsTheLastEightStepsAndRemembersMore) {
  StepLedger ledger;
  for (std::int64_t index = 1; index <= 70; ++index)
    EXPECT_EQ(ledger.give({10 * index, 1.0}), index);
  const json recent = ledger.recent();
  ASSERT_EQ(recent.size(), 8u);
  EXPECT_EQ(recent[0], json::parse("[63, 630, [0]]"));
  EXPECT_EQ(recent[7], json::parse("[70, 700, [0]]"));
  ledger.lost_between(0, 8); // 64 steps are remembered: 7 to 70
  ASSERT_EQ(ledger.all().size(), 1u);
  EXPECT_EQ(ledger.all()[0].index, 70);
  EXPECT_EQ(ledger.all()[0].why, "dropped");
  ledger.lost_between(68, 70);
  EXPECT_EQ(ledger.count("dropped"), 2) << "69 alone lies between";
  EXPECT_EQ(ledger.given(), 70);
}

TEST(CouplingSide, IsToldWithoutItsState) {
  const CouplingSide side{3, 7, 1.5, 2.5, 3.5, 4.5, "dropped", "node", 42};
  const CouplingSide again = side_from_json(json::parse(to_json(side).dump()));
  EXPECT_EQ(again.ranks, 3);
  EXPECT_EQ(again.steps, 7);
  EXPECT_EQ(again.elapsed, 1.5);
  EXPECT_EQ(again.compute, 2.5);
  EXPECT_EQ(again.wait, 3.5);
  EXPECT_EQ(again.transfer, 4.5);
  EXPECT_EQ(again.state, "open");
  EXPECT_EQ(again.host, "node");
  EXPECT_EQ(again.process, 42);
  for (const char *name : {"ranks", "steps", "elapsed", "compute", "wait", "transfer", "host", "process"}) {
    json wrong = to_json(side);
    wrong.erase(name);
    EXPECT_THROW(side_from_json(wrong), json::exception) << name;
  }
}

// ---- the files by which the ends of a stream find each other
// ---------------------------------------------------------

class ContactFileTest : public testing::Test {
protected:
  void write(const std::string &text) const { replace_file(contact.file() + ".writer", text, false); }
  /// A record of this host, of a process that began when this one did.
  std::string record_of(pid_t process) const {
    const ProcessIdentity own = this_process();
    return json{{"host", own.host}, {"process", process}, {"begun", own.begun}}.dump();
  }
  static pid_t ended() {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }
  SharedFolder made;
  const std::string name = std::string(made) + "/run";
  const ContactFile contact{name};
};

TEST_F(ContactFileTest, AWriterIsAliveUntilItsProcessIsKnownToHaveEnded) {
  EXPECT_FALSE(contact.alive());
  EXPECT_EQ(contact.why_not(), "there is no " + name + ".sst, so no writer has opened the stream");
  contact.claim({});
  EXPECT_FALSE(contact.alive()) << "ADIOS2 has not written its file";
  replace_file(contact.file(), "#ADIOS2-SST", false);
  EXPECT_TRUE(contact.alive());
  EXPECT_EQ(contact.why_not(), "nobody answers at the address in " + name + ".sst; the writer may have been killed");
  const pid_t process = ended();
  write(record_of(process));
  EXPECT_FALSE(contact.alive());
  EXPECT_TRUE(has(contact.why_not(), name + ".sst was left by process " + std::to_string(process)))
      << contact.why_not();
  EXPECT_TRUE(has(contact.why_not(), ", which has ended"));
  for (const char *text : {"", "no JSON", "{}", R"({"host": 1})", R"({"process": "x"})"}) {
    write(text);
    EXPECT_TRUE(contact.alive()) << "of another program: " << text;
  }
  contact.release();
  EXPECT_TRUE(contact.alive());
  EXPECT_FALSE(fs::exists(name + ".sst.writer"));
  contact.release();
}

TEST_F(ContactFileTest, OneWriterAtATimeHasAStream) {
  contact.check_writable();
  contact.claim({});
  const std::string told = error_of<IoError>([&] { contact.check_writable(); });
  EXPECT_TRUE(has(told, "cannot write the stream " + name + ".sst: process " + std::to_string(::getpid()))) << told;
  EXPECT_TRUE(has(told, "is writing one of that name"));
  write(record_of(ended()));
  contact.check_writable();
  fs::create_directory(contact.file());
  EXPECT_TRUE(has(error_of<IoError>([&] { contact.check_writable(); }), "Is a directory"));
  EXPECT_TRUE(has(error_of<IoError>([&] { ContactFile(name + "/none").check_writable(); }), name + "/none.sst"));
  ContactFile("here").check_writable(); // in the directory where this program runs
}

TEST_F(ContactFileTest, TheRecordOfAWriterComesBack) {
  EXPECT_FALSE(contact.record());
  contact.claim({3, 4001, "token", {"10.0.0.1", "127.0.0.1"}, {"10.1.0.0/16"}, "10.0.0.1", 4002});
  EXPECT_EQ(fs::status(name + ".sst.writer").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const auto found = contact.record();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, 3);
  EXPECT_EQ(found->port, 4001);
  EXPECT_EQ(found->token, "token");
  EXPECT_EQ(found->addresses, (std::vector<std::string>{"127.0.0.1", "10.0.0.1"})) << "on this host the nearest first";
  EXPECT_EQ(found->hosts, (std::vector<std::string>{"10.1.0.0/16"}));
  EXPECT_EQ(found->listens, "10.0.0.1");
  EXPECT_EQ(found->listens_at, 4002);
  json elsewhere = json::parse(read_file(name + ".sst.writer"));
  elsewhere["host"] = "elsewhere";
  write(elsewhere.dump());
  EXPECT_EQ(contact.record()->addresses, (std::vector<std::string>{"10.0.0.1"}));
  write("{}");
  EXPECT_EQ(contact.record()->port, 0);
  EXPECT_EQ(contact.record()->token, "");
  for (const char *text : {"", "[", R"({"port": "x"})", R"({"hosts": 1})"}) {
    write(text);
    EXPECT_FALSE(contact.record()) << text;
  }
}

TEST_F(ContactFileTest, OnlyThisUserReadsTheFileOfADIOS2) {
  replace_file(contact.file(), "#ADIOS2-SST", false);
  fs::permissions(contact.file(), fs::perms::all);
  contact.protect();
  EXPECT_EQ(fs::status(contact.file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

} // namespace
