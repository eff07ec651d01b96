// Files that replace others at once, and files that must stay what they are.

#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/storage/files.hpp>
#include <tailrace/io/storage/own_files.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

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

/// Pieces of 64 KiB are read; a file may end at any of their bounds.
TEST(Files, AreReadToTheirEnd) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/file";
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 131072, 131073, 300000}) {
    std::string text(size, 'a');
    for (std::size_t at = 0; at < size; ++at)
      text[at] = static_cast<char>('a' + at % 23);
    write_file(path, text);
    EXPECT_EQ(read_file(path), text) << size;
  }
}

TEST(Files, ThatEndTooEarlyAreErrors) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/file";
  write_file(path, "0123456789");
  const FileDescriptor file(path, O_RDONLY);
  std::vector<char> found(8, 'x');
  read_all(file.get(), found.data(), 8, 2, path);
  EXPECT_EQ(std::string(found.begin(), found.end()), "23456789");
  read_all(file.get(), nullptr, 0, 99, path);
  EXPECT_EQ(test::error_of<IoError>([&] { read_all(file.get(), found.data(), 8, 3, path); }),
            "cannot read " + path + ": the file ends 1 bytes too early");
  EXPECT_EQ(read_some(file.get(), found.data(), 8, 7, path), 3u);
  EXPECT_EQ(read_some(file.get(), found.data(), 8, 10, path), 0u);
  EXPECT_TRUE(test::has(test::error_of<IoError>([&] { read_some(-1, found.data(), 8, 0, path); }), "Bad file"));
  EXPECT_TRUE(test::has(test::error_of<IoError>([&] { write_all(file.get(), "x", 1, 0, path); }), "Bad file"));
}

TEST(Files, ZerosAreLookedForToTheEnd) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/file";
  const auto zeros_from = [&](std::int64_t begin) {
    return has_zeros_from(FileDescriptor(path, O_RDONLY), begin, path);
  };
  write_file(path, "ab" + std::string(70000, '\0'));
  EXPECT_FALSE(zeros_from(0));
  EXPECT_FALSE(zeros_from(1));
  EXPECT_TRUE(zeros_from(2));
  EXPECT_TRUE(zeros_from(70002)) << "nothing is left";
  for (const std::size_t at : {65535, 65536, 69999}) {
    std::string text(70000, '\0');
    text[at] = 'x';
    write_file(path, text);
    EXPECT_FALSE(zeros_from(0)) << at;
    EXPECT_TRUE(zeros_from(static_cast<std::int64_t>(at) + 1)) << at;
  }
}

TEST(Files, DraftsAreNumberedFromTwo) {
  const test::SharedFolder folder;
  const std::string path = std::string(folder) + "/file";
  for (const char *name : {".tmp", ".tmp2", ".tmp3"}) {
    const NewFile draft = create_draft(path);
    EXPECT_EQ(draft.path, path + name);
    EXPECT_TRUE(is_at(draft.file, path + name));
  }
  for (int number = 4; number <= 1000; ++number)
    write_file(path + ".tmp" + std::to_string(number), "");
  EXPECT_EQ(test::error_of<IoError>([&] { create_draft(path); }),
            file_error("create", path + ".tmp1000", EEXIST).what());
  fs::remove(path + ".tmp1000");
  EXPECT_EQ(create_draft(path).path, path + ".tmp1000") << "the last name";
  EXPECT_TRUE(test::has(test::error_of<IoError>([&] { create_draft(path + "/no/file"); }), "/no/file.tmp"));
}

TEST(Files, TargetsHaveTheRightKindAndADirectory) {
  const test::SharedFolder folder;
  const std::string here = folder, file = here + "/file", none = here + "/none";
  write_file(file, "");
  check_target(file, Mode::read, Kind::file);
  check_target(file, Mode::write, Kind::file);
  check_target(here, Mode::append, Kind::directory);
  check_target(here + "/", Mode::append, Kind::directory);
  check_target(none, Mode::write, Kind::file);
  check_target(none + "/", Mode::write, Kind::directory);
  check_target("none", Mode::write, Kind::directory); // in the directory where this program runs
  const auto told = [](const std::string &path, Mode mode, Kind kind) {
    return test::error_of<IoError>([&] { check_target(path, mode, kind); });
  };
  EXPECT_EQ(told(none, Mode::read, Kind::file), "cannot read " + none + ": it does not exist");
  EXPECT_EQ(told(file, Mode::read, Kind::directory),
            "cannot read " + file + ": it is a file, and this engine keeps a series in a directory");
  EXPECT_EQ(told(here, Mode::append, Kind::file),
            "cannot write " + here + ": it is a directory, and this engine keeps a series in a file");
  EXPECT_EQ(told(none + "/deep/", Mode::write, Kind::directory),
            "cannot write " + none + "/deep/: the directory " + none + " does not exist");
  EXPECT_TRUE(test::has(told(file + "/deep", Mode::write, Kind::file), file + " does not exist"));
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
