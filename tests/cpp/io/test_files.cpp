// Files that replace others at once, and files that must stay what they are.

#include "io/shared_folder.hpp"
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/own_files.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tailrace::io {
namespace {

namespace fs = std::filesystem;

void write_file(const std::string &path, const std::string &text) {
  const FileDescriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(file.get(), text.data(), static_cast<std::int64_t>(text.size()), 0, path);
}

TEST(Files, AReplacedFileSparesWhatHasTheNameOfItsDraft) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/series.jsonl", draft = path + ".tmp";
  const std::string precious = std::string(folder) + "/precious";
  write_file(precious, "precious");
  write_file(draft, "precious");
  replace_file(path, "new", false);
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(read_file(draft), "precious");
  fs::remove(draft);
  fs::create_symlink(precious, draft);
  replace_file(path, "newer", false);
  EXPECT_EQ(read_file(path), "newer");
  EXPECT_TRUE(fs::is_symlink(draft));
  EXPECT_EQ(read_file(precious), "precious");
  fs::remove(draft);
  ASSERT_EQ(::mkfifo(draft.c_str(), 0666), 0);
  replace_file(path, "newest", false);
  EXPECT_TRUE(fs::is_fifo(draft));
  EXPECT_EQ(std::distance(fs::directory_iterator(std::string(folder)), fs::directory_iterator()), 3);
}

TEST(Files, AReplacedFileHasItsOwnPermissions) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/run.sst.tailrace";
  write_file(path + ".tmp", "");
  fs::permissions(path + ".tmp", fs::perms::all);
  replace_file(path, "token", false, 0600);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(Files, AFileThatCannotBeReplacedLeavesNoDraft) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/run";
  fs::create_directories(path + "/full");
  EXPECT_THROW(replace_file(path, "new", false), IoError);
  EXPECT_EQ(std::distance(fs::directory_iterator(std::string(folder)), fs::directory_iterator()), 1);
}

TEST(Files, ADraftIsKnownByItsName) {
  for (const char *name : {"a.json.tmp", "a.json.tmp2", "a.json.tmp17"})
    EXPECT_TRUE(is_draft_of(name, "a.json")) << name;
  for (const char *name : {"a.json", "a.json.tm", "a.json.tmp.gz", "b.json.tmp", "a.json.tmp2x"})
    EXPECT_FALSE(is_draft_of(name, "a.json")) << name;
}

TEST(OwnFiles, AFileThatWasReplacedBeforeItWasNotedIsFound) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/series.jsonl";
  const FileDescriptor open(path, O_WRONLY | O_CREAT);
  OwnFiles own;
  own.note(path, open);
  own.check();
  write_file(path + ".other", "another");
  fs::rename(path + ".other", path);
  own.note(path, open);
  EXPECT_THROW(own.check(), IoError);
}

TEST(OwnFiles, TheFileThatReplaceFileReturnsIsTheOneAtThePath) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/series.jsonl";
  const FileDescriptor open = replace_file(path, "new", false);
  EXPECT_TRUE(is_at(open, path));
}

} // namespace
} // namespace tailrace::io
