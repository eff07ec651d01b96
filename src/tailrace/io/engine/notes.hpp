#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

/// What people should know of a series: choices of its engine, and what the system refused. The thread in the
/// background may add to them while the program reads them. Local.
class Notes {
public:
  void push_back(std::string note) {
    const std::scoped_lock lock(mutex_);
    notes_.push_back(std::move(note));
  }
  std::vector<std::string> all() const {
    const std::scoped_lock lock(mutex_);
    return notes_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

} // namespace tailrace::io
