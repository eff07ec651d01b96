#include <tailrace/io/engine/engine_turn.hpp>

#include <tailrace/io/engine/background_thread.hpp>

namespace tailrace::io {

namespace {

thread_local int turns = 0; ///< of this thread

std::recursive_mutex &libraries() {
  static auto &mutex = *new std::recursive_mutex; // as long as the process: threads may outlive static objects
  return mutex;
}

} // namespace

EngineTurn::EngineTurn(bool library) {
  if (turns == 0) // with a turn, this thread may be what the background waits for
    BackgroundThread::wait_until_idle();
  if (library)
    lock_ = std::unique_lock(libraries());
  ++turns;
}

EngineTurn::~EngineTurn() { --turns; }

} // namespace tailrace::io
