#pragma once

#include <chrono>

namespace tailrace {

/// Adds the wall time between its construction and its destruction to `total`, in seconds.
class Stopwatch {
public:
  explicit Stopwatch(double &total) : total_(total), start_(Clock::now()) {}
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;
  ~Stopwatch() { total_ += std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
  using Clock = std::chrono::steady_clock;
  double &total_;
  Clock::time_point start_;
};

} // namespace tailrace
