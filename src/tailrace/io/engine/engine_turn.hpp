#pragma once

#include <mutex>

namespace tailrace::io {

/// The right of one thread to use engines, as long as the object lives; a thread may have it several times. HDF5 and
/// ADIOS2 may be called by one thread of a process at a time, so that no other thread calls them meanwhile. A thread
/// other than that of the background waits first until the background has nothing to do, so that all ranks come to
/// their engines in the same order. On several ranks, threads that use different series at the same time must do so in
/// the same order on all ranks. Local.
class EngineTurn {
public:
  /// `library`: the engine has a library that only one thread may call.
  explicit EngineTurn(bool library);
  ~EngineTurn();
  EngineTurn(const EngineTurn &) = delete;
  EngineTurn &operator=(const EngineTurn &) = delete;

private:
  std::unique_lock<std::recursive_mutex> lock_;
};

} // namespace tailrace::io
