#include <tailrace/io/journal.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace tailrace;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/tailrace_journal_XXXXXX";
    folder = mkdtemp(pattern); // each rank its own: a journal is a local thing
    path = folder + "/file";
    replace_file(path, before, false);
  }
  void TearDown() override { fs::remove_all(folder); }
  /// What a crash leaves: changed metadata, a longer file, and a journal that nobody holds.
  void crash(const std::map<std::int64_t, std::int64_t> &kept) {
    const Journal journal(path, kept, true);
    std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
    std::ofstream(path, std::ios::app) << "a step that was not finished";
  }
  std::string folder, path;
  const std::string before = "head----data----tail";
};

TEST_F(JournalTest, PutsTheFileBack) {
  crash({{8, 8}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
  EXPECT_FALSE(fs::exists(path + ".journal"));
  Journal::recover(path, 0); // nothing to do
}

TEST_F(JournalTest, SavesEverythingButWhatItsOwnerKeeps) {
  crash({{0, 8}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), "XXXX" + before.substr(4)) << "the owner promised not to change the first eight bytes";
}

TEST_F(JournalTest, RollsBackAndCommits) {
  for (const bool commit : {false, true}) {
    Journal journal(path, {}, false);
    std::ofstream(path) << "short";
    commit ? journal.commit() : journal.roll_back();
    EXPECT_EQ(read_file(path), commit ? "short" : before);
    EXPECT_FALSE(fs::exists(path + ".journal"));
  }
}

TEST_F(JournalTest, LeavesALiveWriterAlone) {
  std::optional<Journal> journal(std::in_place, path, std::map<std::int64_t, std::int64_t>{}, false);
  EXPECT_THROW(Journal::recover(path, 0.05), IoError);
  EXPECT_TRUE(fs::exists(path + ".journal"));
  journal->commit();
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(JournalTest, DistrustsADamagedJournal) {
  crash({});
  std::fstream(path + ".journal", std::ios::in | std::ios::out).seekp(30).put('?');
  EXPECT_THROW(Journal::recover(path, 0), IoError);
}

} // namespace
