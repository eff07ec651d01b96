#pragma once

#include <tailrace/support/communicator.hpp>

#include <functional>
#include <string>

namespace tailrace {

/// Seconds that a library gets to return on all ranks after one of them failed inside it.
inline constexpr double failure_timeout_default = 60;

/// Runs a call of a library in which the ranks wait for each other, and agrees on its outcome. When the call fails on
/// one rank alone, libraries leave the other ranks waiting inside: if these have not returned after `timeout` seconds,
/// the rank that failed ends the program with a message. Collective; the same error on all ranks.
void guarded_collective(const Communicator &comm, double timeout, const std::string &library,
                        const std::function<void()> &work);

/// guarded_collective for a library that may not return even on the rank whose write to `path` failed, because it waits
/// for the other ranks first. Then rank 0 ends the program when nobody has changed the file for one second longer than
/// `timeout`, so that a rank that did return prints its message first. Collective; the same error on all ranks.
void guarded_write(const Communicator &comm, double timeout, const std::string &library, const std::string &path,
                   const std::function<void()> &work);

} // namespace tailrace
