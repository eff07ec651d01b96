#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tailrace::io {

/// The thread that writes while the program computes: one for all series of a process, so that the libraries below see
/// one caller at a time, and so that all ranks do the same things in the same order. It lives as long as somebody holds
/// it.
class Background {
public:
  static std::shared_ptr<Background> get();
  /// Waits until the thread, if there is one, has nothing to do: to be called by anybody else who uses an engine, for
  /// neither HDF5 nor ADIOS2 may be used by two threads at once. Local.
  static void wait_until_idle();
  /// Whether MPI may be called from that thread.
  static bool allowed();

  Background();
  ~Background();
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  /// `task` must not throw.
  void submit(std::function<void()> task);
  void wait_idle();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, ending_ = false;
  std::thread thread_; // last: it uses the others
};

} // namespace tailrace::io
