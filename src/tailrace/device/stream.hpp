#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace tailrace::device {

/// Work for a device in the order in which it was given. On a host it is done at once.
class Stream {
public:
  /// On device number `rank` modulo the number of devices of this machine. Throws InputError where this process has no
  /// device, or one for which the library was not compiled.
  explicit Stream(int rank);

  /// Waits until all of it is done. Throws Error if any of it has failed.
  void wait() const;
  /// What the device calls a stream.
  void *handle() const { return handle_.get(); }

private:
  std::shared_ptr<void> handle_;
};

/// The name of the device of this process, for its messages.
std::string name();
/// Whether the processor reads the memory of the device in place.
bool shares_memory();
/// For tests where the processor stands for the device: as if it did not.
void pretend_own_memory(bool pretend);

/// Memory of a device, freed with the last of its owners. Throws Error where the device has no room: perhaps on one
/// rank alone.
std::shared_ptr<void> allocate(std::size_t bytes);
/// Copies between host and device, in the order of the stream; the host's memory may be used again at once.
void upload(const Stream &stream, void *to, const void *from, std::size_t bytes);
/// The same in the other direction; the values are there when this returns.
void download(const Stream &stream, void *to, const void *from, std::size_t bytes);
/// Sets all bytes to zero.
void clear(const Stream &stream, void *memory, std::size_t bytes);

} // namespace tailrace::device
