#include <tailrace/io/engine/background_thread.hpp>

#include <tailrace/io/trace.hpp>

#include <mpi.h>
#include <sched.h>

namespace tailrace::io {

namespace {

std::mutex one_mutex;
std::weak_ptr<BackgroundThread> the_one;

} // namespace

std::shared_ptr<BackgroundThread> BackgroundThread::get() {
  const std::lock_guard lock(one_mutex);
  auto found = the_one.lock();
  if (!found)
    the_one = found = std::make_shared<BackgroundThread>();
  return found;
}

void BackgroundThread::wait_until_idle() {
  std::shared_ptr<BackgroundThread> found;
  {
    const std::lock_guard lock(one_mutex);
    found = the_one.lock();
  }
  if (found && found->thread_.get_id() != std::this_thread::get_id())
    found->wait_idle();
}

bool BackgroundThread::allowed() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

BackgroundThread::BackgroundThread() : thread_([this] { run(); }) {}

BackgroundThread::~BackgroundThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundThread::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void BackgroundThread::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
}

void BackgroundThread::run() {
  Trace::set_background();
#ifdef SCHED_BATCH // otherwise, when all cores are busy, it would preempt the caller that wakes it
  const sched_param unchanged{};
  ::sched_setscheduler(0, SCHED_BATCH, &unchanged);
#endif
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty())
      return; // all tasks are done
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

} // namespace tailrace::io
