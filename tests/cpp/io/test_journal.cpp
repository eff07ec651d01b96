#include <tailrace/io/hdf5/journal.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/tailrace_journal_XXXXXX";
    folder = mkdtemp(pattern); // each rank has its own folder, because a journal is local
    path = folder + "/file";
    replace_file(path, before, false);
  }
  void TearDown() override { fs::remove_all(folder); }
  /// Leaves files as a crash does: changed metadata, a longer file, and a journal without an owner.
  void crash(const std::map<std::int64_t, std::int64_t> &saved) {
    Journal journal(path, true);
    journal.save(saved, static_cast<std::int64_t>(before.size()));
    std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
    std::ofstream(path, std::ios::app) << "a step that was not finished";
  }
  std::string folder, path;
  const std::string before = "head----data----tail";
};

TEST_F(JournalTest, PutsTheFileBack) {
  crash({{0, 4}, {16, 4}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
  EXPECT_FALSE(fs::exists(path + ".journal"));
  Journal::recover(path, 0); // there is nothing to recover
}

TEST_F(JournalTest, PutsBackWhatWasSavedAndNoMore) {
  crash({{2, 4}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), "XX" + before.substr(2)) << "the first two bytes were not saved";
}

TEST_F(JournalTest, CommitsAndRollsBackAgainAndAgain) {
  Journal journal(path, false);
  std::string now = before;
  for (const bool commit : {false, true, false, true, true, false}) {
    journal.save({{0, 8}}, static_cast<std::int64_t>(now.size()));
    journal.begin_commit();
    std::string next = now + "more";
    next.replace(0, 1, 1, static_cast<char>(next[0] + 1));
    std::fstream(path, std::ios::in | std::ios::out) << next;
    commit ? journal.commit() : journal.roll_back();
    now = commit ? next : now;
    EXPECT_EQ(read_file(path), now);
    EXPECT_TRUE(fs::exists(path + ".journal")) << "the writer is still there";
  }
}

TEST_F(JournalTest, IsGoneWithItsWriter) {
  {
    Journal journal(path, false);
    EXPECT_THROW(Journal(path, false), IoError) << "there is a writer";
    journal.save({{0, 8}}, 8);
    journal.commit();
  }
  EXPECT_FALSE(fs::exists(path + ".journal"));
}

TEST_F(JournalTest, ForgetsAWriterKilledBetweenSteps) {
  { // leaves files as a kill does: a journal without a lock, which contains the old contents of the step before
    Journal journal(path, false);
    journal.save({{0, 8}}, static_cast<std::int64_t>(before.size()));
    std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
    journal.commit();
    fs::copy_file(path + ".journal", path + ".kept");
  }
  fs::rename(path + ".kept", path + ".journal");
  const Journal::ReadLock lock(path, 0);
  EXPECT_EQ(read_file(path), "XXXX" + before.substr(4));
  EXPECT_FALSE(fs::exists(path + ".journal"));
}

TEST_F(JournalTest, IgnoresWhatAKillCut) { // the journal has its pieces but no header
  std::ofstream(path + ".journal") << std::string(100, '\0');
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
  std::ofstream(path + ".journal");
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(JournalTest, LeavesALiveWriterAlone) {
  std::optional<Journal> journal(std::in_place, path, false);
  journal->save({{0, 8}}, 8);
  EXPECT_THROW(Journal::recover(path, 0.05), IoError);
  EXPECT_TRUE(fs::exists(path + ".journal"));
  {
    const Journal::ReadLock lock(path, 0);
  } // readers can open the file before the commit begins
  journal->begin_commit();
  EXPECT_THROW(Journal::ReadLock(path, 0.05), IoError);
  journal->commit();
  {
    const Journal::ReadLock lock(path, 0);
  } // readers can open the file after the commit
  journal.reset();
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(JournalTest, DistrustsADamagedJournal) {
  crash({{0, 4}});
  std::fstream(path + ".journal", std::ios::in | std::ios::out).seekp(30).put('?');
  EXPECT_THROW(Journal::recover(path, 0), IoError);
}

} // namespace
