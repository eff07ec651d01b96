#pragma once

#include <tailrace/support/communicator.hpp>

#include <functional>
#include <string>

namespace tailrace::io {

/// Seconds that a library gets to bring the ranks together again after one of them failed inside it.
inline constexpr double failure_timeout_default = 60;

/// Runs a call of a library in which the ranks wait for each other, and agrees on its outcome. When it fails on one
/// rank alone, libraries leave the others waiting there: if they have not come out after `timeout` seconds, that rank
/// ends the program with a message. Collective; the same error on all ranks.
void meet_inside(const Communicator &comm, double timeout, const std::string &library,
                 const std::function<void()> &work);

/// meet_inside for a library that, when a rank's write to `path` fails, may not let that rank out either: it goes on
/// with what the others have not come to yet. Then rank 0 ends the program once nobody has changed the file for a
/// second longer than `timeout`, so that a rank that came out says what it knows. Collective; the same error on all
/// ranks.
void meet_writing(const Communicator &comm, double timeout, const std::string &library, const std::string &path,
                  const std::function<void()> &work);

} // namespace tailrace::io
