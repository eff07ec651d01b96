#include <tailrace/io/hdf5/journal/journal.hpp>
#include <tailrace/io/hdf5/journal/stable_view.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
namespace fs = std::filesystem;

namespace {

using Changes = std::map<std::int64_t, std::vector<char>>;

std::vector<char> bytes(const std::string &text) { return {text.begin(), text.end()}; }

std::string error_of(const std::function<void()> &work) {
  try {
    work();
  } catch (const IoError &error) {
    return error.what();
  }
  return "";
}

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
  void crash(const Changes &changes, const std::map<std::int64_t, std::int64_t> &marks = {}) {
    Journal journal(path, true);
    journal.save(changes, marks, static_cast<std::int64_t>(before.size()));
    std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
    std::ofstream(path, std::ios::app) << "a step that was not finished";
  }
  /// Neither a writer nor a reader takes the journal, and both leave all as it is. Returns what the writer is told.
  std::string refused() {
    const std::string file = read_file(path),
                      journal = fs::is_regular_file(journal_name()) ? read_file(journal_name()) : "";
    const std::string told = error_of([&] { Journal::recover(path, 0); });
    EXPECT_NE(told, "");
    EXPECT_NE(error_of([&] { StableView view(path); }), "");
    EXPECT_EQ(read_file(path), file);
    EXPECT_TRUE(fs::symlink_status(journal_name()).type() != fs::file_type::not_found);
    if (!journal.empty()) {
      EXPECT_EQ(read_file(journal_name()), journal);
    }
    return told;
  }
  std::string journal_name() const { return path + ".journal"; }

  std::string folder, path;
  const std::string before = "head----data----tail";
};

TEST_F(JournalTest, PutsTheFileBack) {
  crash({{0, bytes("XXXX")}, {16, bytes("TAIL")}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
  EXPECT_FALSE(fs::exists(journal_name()));
  Journal::recover(path, 0); // there is nothing to recover
}

TEST_F(JournalTest, PutsBackWhatWasSavedAndNoMore) {
  crash({{2, bytes("XX--")}});
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), "XX" + before.substr(2)) << "the first two bytes were not saved";
}

TEST_F(JournalTest, CommitsAndRollsBackAgainAndAgain) {
  Journal journal(path, false);
  std::string now = before;
  for (const bool commit : {false, true, false, true, true, false}) {
    std::string next = now + "more";
    next.replace(0, 1, 1, static_cast<char>(next[0] + 1));
    journal.save({{0, bytes(next.substr(0, 8))}}, {}, static_cast<std::int64_t>(now.size()));
    journal.begin_commit();
    std::fstream(path, std::ios::in | std::ios::out) << next;
    commit ? journal.commit() : journal.roll_back();
    now = commit ? next : now;
    EXPECT_EQ(read_file(path), now);
    EXPECT_TRUE(fs::exists(journal_name())) << "the writer is still there";
  }
}

TEST_F(JournalTest, IsGoneWithItsWriter) {
  {
    Journal journal(path, false);
    EXPECT_THROW(Journal(path, false), IoError) << "there is a writer";
    journal.save({{0, bytes("XXXX")}}, {}, 8);
    journal.commit();
  }
  EXPECT_FALSE(fs::exists(journal_name()));
}

TEST_F(JournalTest, ForgetsAWriterKilledBetweenSteps) {
  { // leaves files as a kill does: a journal without a lock, which contains the old contents of the step before
    Journal journal(path, false);
    journal.save({{0, bytes("XXXX")}}, {}, static_cast<std::int64_t>(before.size()));
    std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
    journal.commit();
    fs::copy_file(journal_name(), path + ".kept");
  }
  fs::rename(path + ".kept", journal_name());
  EXPECT_EQ(StableView(path).saved(), nullptr);
  EXPECT_TRUE(fs::exists(journal_name())) << "a reader changes nothing";
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), "XXXX" + before.substr(4));
  EXPECT_FALSE(fs::exists(journal_name()));
}

TEST_F(JournalTest, IgnoresWhatAKillCut) { // the journal has its pieces but no header
  for (const std::size_t size : {0, 5, 100, 2000}) {
    std::ofstream(journal_name()) << std::string(size, '\0');
    EXPECT_EQ(StableView(path).saved(), nullptr);
    Journal::recover(path, 0);
    EXPECT_EQ(read_file(path), before);
    EXPECT_FALSE(fs::exists(journal_name()));
  }
}

TEST_F(JournalTest, LeavesALiveWriterAlone) {
  std::optional<Journal> journal(std::in_place, path, false);
  journal->save({{0, bytes("XXXX")}}, {}, 8);
  const std::string told = error_of([&] { Journal::recover(path, 0.05); });
  EXPECT_NE(told.find("process " + std::to_string(::getpid()) + " of this host is writing it"), std::string::npos)
      << told;
  EXPECT_THROW(Journal::discard(path), IoError);
  EXPECT_TRUE(fs::exists(journal_name()));
  { // readers can open the file before the commit begins, and see at its end that it changed
    const StableView view(path);
    EXPECT_FALSE(view.changed());
    journal->commit();
    EXPECT_TRUE(view.changed());
  }
  journal->save({{0, bytes("XXXX")}}, {}, 8);
  journal->begin_commit();
  std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
  { // one that does not end is read around
    const StableView view(path);
    ASSERT_NE(view.saved(), nullptr);
    EXPECT_EQ(view.saved()->end, 8);
    EXPECT_EQ(view.saved()->pieces.at(0).before, bytes("head"));
  }
  journal->roll_back();
  journal.reset();
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before.substr(0, 8));
}

TEST_F(JournalTest, ReadersSeeTheOldStateAndChangeNothing) {
  crash({{0, bytes("XXXX")}, {16, bytes("TAIL")}});
  const std::string file = read_file(path), journal = read_file(journal_name());
  const StableView view(path);
  ASSERT_NE(view.saved(), nullptr);
  EXPECT_EQ(view.saved()->end, static_cast<std::int64_t>(before.size()));
  EXPECT_EQ(view.saved()->pieces.at(0).before, bytes("head"));
  EXPECT_EQ(view.saved()->pieces.at(16).before, bytes("tail"));
  EXPECT_FALSE(view.changed());
  EXPECT_EQ(read_file(path), file);
  EXPECT_EQ(read_file(journal_name()), journal);
}

TEST_F(JournalTest, ReadersNoticeAWriterThatCameAndWent) { // which leaves no journal, and maybe a file of the same size
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1)); // clocks of files are coarse
  const StableView view(path);
  EXPECT_FALSE(view.changed());
  std::fstream(path, std::ios::in | std::ios::out).write("XXXX", 4);
  EXPECT_TRUE(view.changed());
  const StableView again(path);
  EXPECT_FALSE(again.changed());
  std::ofstream(path, std::ios::app) << "a step";
  EXPECT_TRUE(again.changed());
  const StableView last(path);
  replace_file(path, read_file(path), false);
  EXPECT_TRUE(last.changed()) << "another file of the same name";
}

TEST_F(JournalTest, TellsReadersOfEachChangeHoweverSoonAfterAnother) { // the times of files are too coarse for that
  const auto seen = [&] {
    fs::last_write_time(path, fs::file_time_type(std::chrono::hours(1)));
    return StableView(path).seen();
  };
  std::vector<StableView::Stamp> stamps{seen()};
  for (int writer = 0; writer < 2; ++writer) { // two of one process make the same changes
    Journal journal(path, false);
    stamps.push_back(seen());
    EXPECT_TRUE(stamps.back().settled);
    EXPECT_EQ(stamps.back(), seen());
    journal.save({}, {}, static_cast<std::int64_t>(before.size()));
    stamps.push_back(seen());
    EXPECT_FALSE(stamps.back().settled) << "a change is under way";
    journal.commit();
    stamps.push_back(seen());
  }
  for (std::size_t one = 0; one < stamps.size(); ++one)
    for (std::size_t other = 0; other < one; ++other)
      EXPECT_FALSE(stamps[one] == stamps[other]) << one << " and " << other;
}

TEST_F(JournalTest, DistrustsADamagedJournal) {
  crash({{0, bytes("XXXX")}});
  for (const int at : {20, 270, 290, 300, 505, 530}) { // writer, state, checksum, saved bytes
    const std::string whole = read_file(journal_name());
    std::string damaged = whole;
    damaged[static_cast<std::size_t>(at)] ^= '\x20'; // another value, whatever it was: a checksum has any
    replace_file(journal_name(), damaged, false);
    EXPECT_NE(refused().find("damaged"), std::string::npos) << at;
    replace_file(journal_name(), whole, false);
  }
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(JournalTest, BelongsToOneStateOfOneFile) {
  crash({{0, bytes("XXXX")}}, {{8, 4}, {2, 4}}); // the second mark is changed, and is no mark
  const std::string crashed = read_file(path), end = "----tail and much more that was written later";
  for (const std::string &other : {std::string("head----DATA") + end,  // another id
                                   std::string("HEAD----data") + end,  // a later state
                                   std::string("XXXX----data----tai"), // an earlier one
                                   std::string()}) {
    replace_file(path, other, false);
    EXPECT_NE(refused().find("belongs to another file"), std::string::npos) << other;
  }
  replace_file(path, "XXad" + crashed.substr(4), false); // the change was under way
  Journal::recover(path, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST_F(JournalTest, BelongsToACopyOfTheFileToo) {
  crash({{0, bytes("XXXX")}});
  fs::create_directory(folder + "/copy");
  for (const char *name : {"/file", "/file.journal"})
    fs::copy_file(folder + name, folder + "/copy" + name);
  Journal::recover(folder + "/copy/file", 0);
  EXPECT_EQ(read_file(folder + "/copy/file"), before);
}

TEST_F(JournalTest, LeavesWhatIsNoJournalAlone) {
  replace_file(journal_name(), "precious", false);
  EXPECT_NE(refused().find("something else"), std::string::npos);
  EXPECT_THROW(Journal::discard(path), IoError);
  EXPECT_THROW(Journal(path, false), IoError);
  EXPECT_EQ(read_file(journal_name()), "precious");
  replace_file(journal_name(), std::string(600, '\0') + "precious", false); // no zeros of a power failure
  EXPECT_NE(refused().find("something else"), std::string::npos);
  fs::remove(journal_name());
  ASSERT_EQ(::mkfifo(journal_name().c_str(), 0600), 0); // must not wait for its other end
  refused();
  fs::remove(journal_name());
  fs::create_directory(journal_name());
  refused();
}

TEST_F(JournalTest, FollowsNoLinkToAJournal) {
  crash({{0, bytes("XXXX")}});
  fs::rename(journal_name(), folder + "/elsewhere");
  fs::create_symlink("elsewhere", journal_name());
  refused();
  fs::remove(journal_name());
  fs::create_symlink("nowhere", journal_name());
  EXPECT_THROW(Journal(path, false), IoError);
  EXPECT_FALSE(fs::exists(folder + "/nowhere"));
}

TEST_F(JournalTest, LiesBesideTheFileItself) { // and not beside a link, where somebody else may have put another
  crash({{0, bytes("XXXX")}});
  fs::create_directory(folder + "/links");
  const std::string link = folder + "/links/file";
  fs::create_symlink(path, link);
  fs::rename(journal_name(), link + ".journal");
  const std::string crashed = read_file(path);
  EXPECT_EQ(StableView(link).saved(), nullptr);
  Journal::recover(link, 0);
  EXPECT_EQ(read_file(path), crashed);
  EXPECT_TRUE(fs::exists(link + ".journal"));
  fs::rename(link + ".journal", journal_name());
  Journal::recover(link, 0);
  EXPECT_EQ(read_file(path), before);
}

TEST(SavedState, LiesWithinItsFile) {
  const SavedState state{20, {{3, {bytes("abc"), bytes("ABC")}}, {10, {bytes("d"), bytes("D")}}}};
  const std::string text = state.encoded();
  const SavedState again = SavedState::decoded(text, 20);
  EXPECT_EQ(again.encoded(), text);
  EXPECT_NO_THROW(SavedState::decoded(text, 11));
  EXPECT_THROW(SavedState::decoded(text, 10), IoError);
  EXPECT_THROW(SavedState::decoded(text.substr(0, text.size() - 1), 20), IoError);
  EXPECT_THROW(SavedState::decoded(text + "x", 20), IoError);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<std::int64_t, std::int64_t>> outside{{-1, 3},   {3, -1},   {3, 0},  {3, 4},
                                                                   {3, most}, {most, 3}, {17, 4}, {8, 3}};
  for (const auto &[offset, size] : outside) { // the last one meets the next piece
    const std::int64_t head[2] = {offset, size};
    std::string wrong = text;
    wrong.replace(0, sizeof head, reinterpret_cast<const char *>(head), sizeof head);
    EXPECT_THROW(SavedState::decoded(wrong, 20), IoError) << offset << " " << size;
  }
}

} // namespace
