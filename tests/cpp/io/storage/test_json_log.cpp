// The list of steps of a sidecar: checked lines in a file that only grows.
#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/json_log.hpp>
#include <tailrace/support/error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class StepLogTest : public testing::Test {
protected:
  static std::string line(const json &object) { return checked_line(object) + "\n"; }
  /// Overwrites the file, and keeps it the one that is open.
  void overwrite(const std::string &text) const {
    const FileDescriptor file(path, O_WRONLY | O_TRUNC);
    write_all(file.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, path);
  }
  SharedFolder made;
  const std::string path = std::string(made) + "/series.jsonl";
  StepLog log{path};
  const json first{{"format", "x"}}, second{{"index", 1}}, third{{"index", 2}};
};

TEST_F(StepLogTest, ALineHasTheChecksumOfItsObject) {
  const std::string text = checked_line(first);
  EXPECT_EQ(text.size(), 21 + first.dump().size());
  EXPECT_EQ(text.substr(0, 2), "[\"");
  EXPECT_EQ(text.substr(18), "\"," + first.dump() + "]");
  EXPECT_EQ(checked_object(text), first);
  EXPECT_EQ(sum_in(text), std::stoull(text.substr(2, 16), nullptr, 16));
  EXPECT_EQ(checked_object(checked_line(json(7))), 7) << "the shortest object is one letter";
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_THROW(checked_object(text.substr(0, size)), std::out_of_range) << size;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at == 18 || at == 19) // the quote and the comma behind the checksum
      continue;
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_THROW(checked_object(damaged), std::exception) << at;
  }
}

TEST_F(StepLogTest, LinesAreWhereTheyAreSaidToBe) {
  const auto made_lines = log.replace({first, second}, false);
  const StepLog::Line added = log.append(third, true);
  EXPECT_EQ(read_file(path), line(first) + line(second) + line(third));
  StepLog reader(path);
  const StepLog::Found found = reader.load();
  EXPECT_TRUE(found.damage.empty());
  ASSERT_EQ(found.lines.size(), 3u);
  std::vector<StepLog::Line> told = made_lines;
  told.push_back(added);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(told[at].offset, found.lines[at].offset);
    EXPECT_EQ(told[at].length, found.lines[at].length);
    EXPECT_EQ(told[at].sum, found.lines[at].sum);
    EXPECT_EQ(told[at].object, found.lines[at].object);
    EXPECT_EQ(reader.read(told[at].offset, told[at].length, told[at].sum), told[at].object);
    EXPECT_EQ(log.read(told[at].offset, told[at].length, told[at].sum), told[at].object) << "by its writer";
  }
  reader.append(first, false); // behind what it has loaded
  EXPECT_EQ(reader.load().lines.size(), 4u);
}

TEST_F(StepLogTest, DamagedLinesAreNamedAndAnIncompleteOneDoesNotCount) {
  log.replace({first}, false);
  std::string damaged = line(second);
  damaged[30] ^= 1;
  overwrite(line(first) + damaged + "\n" + line(third) + "[\"0123");
  StepLog reader(path);
  const StepLog::Found found = reader.load();
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[1].object, third);
  ASSERT_EQ(found.damage.size(), 2u);
  EXPECT_EQ(found.damage[0], path + ": line 2 is damaged (it differs from its checksum)");
  EXPECT_EQ(found.damage[1], path + ": line 3 is damaged (no line of ours)");
  reader.append(second, false); // overwrites the incomplete one
  EXPECT_EQ(read_file(path), line(first) + damaged + "\n" + line(third) + line(second));
}

TEST_F(StepLogTest, ALineThatChangedSinceItWasLoadedIsDamaged) {
  log.replace({first, second}, false);
  StepLog reader(path);
  const StepLog::Line one = reader.load().lines[1];
  overwrite(line(first) + line({{"index", 7}}));
  const std::string where = "cannot read " + path + ": the line at byte " + std::to_string(one.offset) + " is damaged ";
  const auto read = [&] { reader.read(one.offset, one.length, one.sum); };
  EXPECT_EQ(error_of<IoError>(read), where + "(it is another line than before)");
  std::string damaged = line(second);
  damaged[21] = 'X';
  overwrite(line(first) + damaged);
  EXPECT_EQ(error_of<IoError>(read), where + "(it differs from its checksum)");
  overwrite(line(first));
  EXPECT_TRUE(has(error_of<IoError>(read), "bytes too early"));
}

TEST_F(StepLogTest, AReaderKeepsTheFileThatItOpened) {
  EXPECT_FALSE(log.replaced()) << "nothing is open";
  log.replace({first, second}, false);
  StepLog reader(path);
  const StepLog::Line one = reader.load().lines[1];
  EXPECT_FALSE(reader.replaced());
  StepLog(path).replace({first}, false);
  EXPECT_TRUE(reader.replaced());
  EXPECT_EQ(reader.read(one.offset, one.length, one.sum), second);
  reader.load();
  EXPECT_FALSE(reader.replaced());
  fs::remove(path);
  EXPECT_TRUE(reader.replaced());
}

TEST_F(StepLogTest, AWriterReadsTheFileThatItReplacedItselfWith) {
  const StepLog::Line before = log.replace({first}, false)[0];
  log.read(before.offset, before.length, before.sum);
  const auto lines = log.replace({second, third}, false);
  EXPECT_EQ(log.read(lines[0].offset, lines[0].length, lines[0].sum), second);
  EXPECT_FALSE(log.replaced());
}

TEST_F(StepLogTest, WhatSomebodyElseDidWithTheFileIsAnErrorOfTheNextLine) {
  for (const std::string how : {"removed", "replaced", "cut"}) {
    log.replace({first, second}, false);
    if (how == "removed")
      fs::remove(path);
    else if (how == "replaced")
      StepLog(path).replace({first, second}, false);
    else
      fs::resize_file(path, 10);
    const std::string left = how == "removed" ? "" : read_file(path);
    EXPECT_THROW(log.append(third, false), IoError) << how;
    EXPECT_EQ(fs::exists(path) ? read_file(path) : "", left) << how;
  }
}

TEST_F(StepLogTest, ALineThatDoesNotFitLeavesTheFileAsItWas) {
  log.replace({first}, false);
  const std::string before = read_file(path);
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &all), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{before.size() + 30, all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string told = error_of<IoError>([&] { log.append({{"text", std::string(100, 'x')}}, false); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &all), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(has(told, path) && has(told, "File too large")) << told;
  EXPECT_EQ(read_file(path), before);
  log.append(second, false);
  EXPECT_EQ(read_file(path), before + line(second));
}

} // namespace
