#include <tailrace/support/process_identity.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tailrace;
using Life = ProcessIdentity::Life;

namespace {

/// A child that sleeps until it is killed.
pid_t start_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return child;
}

} // namespace

TEST(ProcessIdentity, OfThisProcessIsAlive) {
  const ProcessIdentity own = this_process();
  EXPECT_EQ(own.pid, ::getpid());
  EXPECT_FALSE(own.host.empty());
  EXPECT_GT(own.begun, 0);
  EXPECT_EQ(own.life(), Life::alive);
  EXPECT_EQ(own, this_process());
}

TEST(ProcessIdentity, ALaterProcessWithTheSameNumberIsAnother) {
  ProcessIdentity earlier = this_process();
  earlier.begun -= 1;
  EXPECT_EQ(earlier.life(), Life::dead);
}

TEST(ProcessIdentity, OfOneThatEndedIsDead) {
  ProcessIdentity other = this_process();
  other.pid = start_child();
  other.begun = 1; // not when it began
  EXPECT_EQ(other.life(), Life::dead);
  ::kill(static_cast<pid_t>(other.pid), SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(other.pid), &ended, WEXITED | WNOWAIT), 0); // now it is a zombie
  EXPECT_EQ(other.life(), Life::dead);
  ::waitpid(static_cast<pid_t>(other.pid), nullptr, 0);
  EXPECT_EQ(other.life(), Life::dead);
}

TEST(ProcessIdentity, CannotTellOfAnotherHost) {
  ProcessIdentity other = this_process();
  other.host += "-2";
  EXPECT_EQ(other.life(), Life::unknown);
  EXPECT_EQ(ProcessIdentity().life(), Life::unknown);
  other = this_process();
  other.begun = 0;
  EXPECT_EQ(other.life(), Life::unknown);
}

TEST(ProcessIdentity, IsNamedInMessages) {
  EXPECT_EQ((ProcessIdentity{"elsewhere", 12, 3}).text(), "process 12 on elsewhere");
  EXPECT_EQ((ProcessIdentity{this_process().host, 12, 3}).text(), "process 12 of this host");
  EXPECT_EQ(ProcessIdentity().text(), "an unknown process");
}
