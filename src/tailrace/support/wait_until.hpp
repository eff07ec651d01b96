#pragma once

#include <chrono>
#include <thread>

namespace tailrace {

/// Calls `done` until it returns true, for at most so many seconds. Returns whether it did.
template <class Done> bool wait_until(double seconds, Done done) {
  const auto start = std::chrono::steady_clock::now();
  while (!done()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds))
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

} // namespace tailrace
