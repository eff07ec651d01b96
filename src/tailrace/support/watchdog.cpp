#include <tailrace/support/watchdog.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tailrace {

Watchdog::Watchdog(double seconds, std::function<void(int)> late)
    : thread_([this, seconds, late = std::move(late)] {
        std::unique_lock lock(mutex_);
        double wait = seconds;
        for (int call = 0; !changed_.wait_for(lock, std::chrono::duration<double>(wait), [&] { return over_; });
             ++call) {
          lock.unlock();
          late(call);
          lock.lock();
          wait = 1;
        }
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void end_program(const std::string &why) {
  fmt::print(stderr, "tailrace: {}; ending\n", why);
  std::fflush(nullptr);
  std::_Exit(1);
}

} // namespace tailrace
