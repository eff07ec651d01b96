#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tailrace {

/// Calls `late` in a thread of its own when the object has lived for `seconds`, and again every second after that.
/// `late` is given the number of the call: 0, 1, 2, ... For calls of a library that has no time limit of its own.
/// Local.
class Watchdog {
public:
  Watchdog(double seconds, std::function<void(int)> late);
  ~Watchdog(); ///< waits for a running call of `late`

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_; // last: it uses the others
};

/// Prints why, flushes all streams and ends the process at once with exit code 1, so that MPI ends the other ranks. For
/// a hang that nothing else can end: destructors and exit handlers could hang too, so they do not run. Local.
[[noreturn]] void end_program(const std::string &why);

} // namespace tailrace
