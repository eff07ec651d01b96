// A lock on what is written: one holder, named in the message of the next; a kill releases it.

#include "io/shared_folder.hpp"
#include <tailrace/support/file_lock.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace tailrace {
namespace {

namespace fs = std::filesystem;

std::string refusal(const std::string &target) {
  try {
    const FileLock lock(target);
  } catch (const IoError &error) {
    return error.what();
  }
  return "";
}

TEST(FileLock, TheSecondIsRefusedUnderEachNameOfTheTargetAndToldWhoHoldsIt) {
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/run";
  fs::create_directory(target);
  fs::create_directory_symlink(target, std::string(folder) + "/other");
  FileLock lock(target);
  EXPECT_EQ(lock.note(), "");
  for (const std::string &name :
       {target, target + "/", std::string(folder) + "/./run", std::string(folder) + "/other"}) {
    const std::string said = refusal(name);
    EXPECT_NE(said.find(std::to_string(::getpid())), std::string::npos) << said;
    EXPECT_NE(said.find(target + ".lock"), std::string::npos) << said;
  }
  lock.release();
  EXPECT_FALSE(fs::exists(target + ".lock"));
  EXPECT_EQ(refusal(target), "");
}

TEST(FileLock, AFileOfSomethingElseIsRefusedAndStays) {
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/uv", lock = target + ".lock", text = "version = 1\n";
  std::ofstream(lock) << text;
  EXPECT_NE(refusal(target).find("a file of something else"), std::string::npos) << refusal(target);
  std::ifstream file(lock);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
  fs::remove(lock);
  fs::create_directory(lock);
  EXPECT_NE(refusal(target).find("a file of something else"), std::string::npos) << refusal(target);
  fs::remove(lock);
  for (const std::string &elsewhere : {std::string(folder) + "/nowhere", lock}) {
    fs::create_symlink(elsewhere, lock);
    EXPECT_NE(refusal(target).find("a file of something else"), std::string::npos) << refusal(target);
    fs::remove(lock);
  }
}

TEST(FileLock, AnEmptyFileIsLockedAndStaysAsItIs) { // flock run.lock mpirun ...
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/run", lock = target + ".lock";
  std::ofstream(lock).flush();
  {
    const FileLock first(target);
    EXPECT_EQ(first.note(), "");
    EXPECT_NE(refusal(target).find("is writing it"), std::string::npos) << refusal(target);
    EXPECT_EQ(fs::file_size(lock), 0U);
  }
  EXPECT_TRUE(fs::exists(lock));
  EXPECT_EQ(fs::file_size(lock), 0U);
}

/// What a process says that may read files of this one, but write only those that all may write.
std::string refusal_of_another_user(const std::string &target) {
  int said[2];
  if (::pipe(said) != 0)
    return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text = "there is no other user";
    if (::geteuid() != 0 || ::setuid(65534) == 0) {
      text = refusal(target);
      if (text.empty())
        text = "allowed: " + FileLock(target).note();
    }
    [[maybe_unused]] const ssize_t written = ::write(said[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(said[1]);
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(said[0], text.data(), text.size()), 0)));
  ::close(said[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST(FileLock, AnotherUserIsRefusedToo) {
  const test::SharedFolder folder;
  fs::permissions(std::string(folder), fs::perms::all);
  const std::string target = std::string(folder) + "/run", lock = target + ".lock";
  FileLock first(target);
  const auto writer = fmt::format("process {} ", ::getpid());
  fs::permissions(lock, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  EXPECT_NE(refusal_of_another_user(target).find(writer), std::string::npos) << refusal_of_another_user(target);
  fs::permissions(lock, fs::perms::none);
  EXPECT_NE(refusal_of_another_user(target).find("may not be read"), std::string::npos);
  first.release();
  EXPECT_EQ(refusal_of_another_user(target), "allowed: ");
  EXPECT_FALSE(fs::exists(lock));
  std::ofstream(lock) << "1 1 2026-01-01T00:00:00Z elsewhere\n"; // of a user whose program was killed
  fs::permissions(lock, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  const std::string said = refusal_of_another_user(target);
  EXPECT_EQ(said.rfind("allowed: ", 0), 0U) << said;
  EXPECT_NE(said.find("a third writer"), std::string::npos) << said;
  EXPECT_TRUE(fs::exists(lock));
}

TEST(FileLock, APathThatCannotBeIsAnIoError) {
  const test::SharedFolder folder;
  const std::string loop = std::string(folder) + "/loop", deep = std::string(folder) + "/" + std::string(300, 'x');
  fs::create_symlink(loop, loop);
  EXPECT_NE(refusal(loop + "/run").find("cannot write " + loop + "/run: "), std::string::npos)
      << refusal(loop + "/run");
  EXPECT_NE(refusal(deep).find("File name too long"), std::string::npos) << refusal(deep);
  const std::string just = std::string(folder) + "/" + std::string(252, 'x'); // with ".lock" it is too long
  EXPECT_NE(refusal(just).find("choose a shorter name"), std::string::npos) << refusal(just);
}

TEST(FileLock, AKillReleasesIt) {
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/run.h5";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(target);
    [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
    ::pause();
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  EXPECT_NE(refusal(target).find(std::to_string(child)), std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(target + ".lock")); // what a kill leaves
  EXPECT_EQ(refusal(target), "");
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, AReleaseLeavesTheLockOfAnotherInPlace) {
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/run.h5";
  FileLock lost(target);
  fs::remove(target + ".lock"); // by somebody who took it for a leftover
  const FileLock lock(target);
  lost.release();
  EXPECT_TRUE(fs::exists(target + ".lock"));
  EXPECT_NE(refusal(target), "");
}

/// The lock, as soon as nobody else holds it.
void take(std::optional<FileLock> &lock, const std::string &target) {
  while (!lock)
    try {
      lock.emplace(target);
    } catch (const IoError &) {
    }
}

TEST(FileLock, WhoWaitedForItHoldsTheFileThatIsThere) {
  const test::SharedFolder folder;
  const std::string target = std::string(folder) + "/run.h5";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FileLock lock(target);
    [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
    ::usleep(300'000);
    lock.release(); // removes the file that the parent has opened meanwhile
    ::_exit(0);
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  std::optional<FileLock> lock;
  take(lock, target);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(target + ".lock"));
  EXPECT_NE(refusal(target), "") << "it locks a file that nobody else can find";
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FileLock, ATargetThatCannotBeLockedIsSaid) {
  const FileLock lock("/proc/nothing/run.h5");
  EXPECT_NE(lock.note().find("/proc/nothing/run.h5"), std::string::npos);
}

TEST(FileLock, TheMountTableTellsWhetherLocksReachOtherNodes) {
  const std::string mounts = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                             "30 21 0:40 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw,localflock,lazystatfs\n"
                             "31 21 0:41 / /scratch/global rw - lustre 10.0.0.1@o2ib:/global rw,flock\n"
                             "32 21 0:42 / /home rw - nfs4 server:/home rw,vers=4.2,local_lock=none\n"
                             "34 21 0:44 / /beegfs rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/client.conf\n"
                             "35 21 0:45 / /remote rw shared:7 master:1 - fuse.sshfs host:/ rw,user_id=0\n"
                             "36 21 0:46 / /shared rw - 9p host rw,trans=virtio\n"
                             "33 21 0:43 / /old rw - nfs server:/old rw,vers=3,nolock\n";
  EXPECT_TRUE(FileLock::reach_other_nodes("/tmp/run", mounts));
  EXPECT_FALSE(FileLock::reach_other_nodes("/scratch/me/run", mounts));
  EXPECT_TRUE(FileLock::reach_other_nodes("/scratch/global/run", mounts));
  EXPECT_TRUE(FileLock::reach_other_nodes("/scratchy/run", mounts));
  EXPECT_TRUE(FileLock::reach_other_nodes("/home/run", mounts));
  EXPECT_FALSE(FileLock::reach_other_nodes("/old/run", mounts));
  for (const char *unknown : {"/beegfs/run", "/remote/run", "/shared/run"})
    EXPECT_FALSE(FileLock::reach_other_nodes(unknown, mounts)) << unknown;
  const std::string over = mounts + "37 33 8:2 / /old rw - xfs /dev/sdb1 rw\n";
  EXPECT_TRUE(FileLock::reach_other_nodes("/old/run", over)) << "what is mounted over another file system hides it";
}

} // namespace
} // namespace tailrace
