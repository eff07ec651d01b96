#include <tailrace/support/process_identity.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <fstream>
#include <sstream>

namespace tailrace {

namespace {

std::string own_host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// When a process of this host began; 0 when /proc does not tell, -1 when the process has ended and only its entry in
/// the table of processes is left.
std::int64_t beginning_of(std::int64_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text) || text.rfind(')') == std::string::npos)
    return 0;
  std::istringstream fields(text.substr(text.rfind(')') + 1)); // the name in front may hold any characters
  std::string skipped, state;
  fields >> state;
  for (int number = 4; number < 22; ++number) // proc(5): field 3 is the state, 22 the start time
    fields >> skipped;
  std::int64_t begun = 0;
  fields >> begun;
  return state == "Z" || state == "X" ? -1 : begun;
}

} // namespace

ProcessIdentity::Life ProcessIdentity::life() const {
  if (host != own_host() || pid <= 0 || pid > INT_MAX)
    return Life::unknown;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)
    return Life::dead;
  const std::int64_t found = beginning_of(pid);
  if (found == 0 || begun == 0) // other users' processes may be hidden
    return Life::unknown;
  return found == begun ? Life::alive : Life::dead;
}

std::string ProcessIdentity::text() const {
  if (host.empty())
    return "an unknown process";
  return host == own_host() ? fmt::format("process {} of this host", pid) : fmt::format("process {} on {}", pid, host);
}

ProcessIdentity this_process() {
  const std::int64_t pid = ::getpid();
  return {own_host(), pid, beginning_of(pid)};
}

} // namespace tailrace
