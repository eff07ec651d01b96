#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tailrace::io {

/// The thread that writes while the program computes. A process has one for all its series, so that the I/O libraries
/// are called by one thread at a time, and all ranks do the same work in the same order. It ends with its last owner.
class BackgroundThread {
public:
  static std::shared_ptr<BackgroundThread> get();
  /// Waits until the thread, if there is one, has nothing to do. Every other thread must call this before it uses an
  /// engine, because HDF5 and ADIOS2 must not be called by two threads at once. Local.
  static void wait_until_idle();
  /// Whether MPI may be called from this thread.
  static bool allowed();

  BackgroundThread();
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread &) = delete;
  BackgroundThread &operator=(const BackgroundThread &) = delete;

  /// `task` must not throw.
  void submit(std::function<void()> task);
  void wait_idle();

private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, ending_ = false;
  std::thread thread_; // last, because it uses the other members
};

} // namespace tailrace::io
