#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tailrace::io {

/// Calls `late` in a thread of its own when the object has lived for `seconds`, and every second from then on with 0,
/// 1, 2, ... For calls of a library that has no time-out. Local.
class Deadline {
public:
  Deadline(double seconds, std::function<void(int)> late);
  ~Deadline(); ///< waits for a call of `late` that is under way

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_; // last: it uses the others
};

/// For a Deadline after which nothing helps: prints why and ends the program, and so the other ranks.
std::function<void(int)> end_program(std::string why);

} // namespace tailrace::io
