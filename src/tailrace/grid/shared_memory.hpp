#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/support/communicator.hpp>

namespace tailrace::grid {

/// Whether all ranks of `comm` can map each other's memory: same node, same user, and the system lets them. Collective;
/// the same answer everywhere.
bool can_share_memory(const Communicator &comm);

/// Memory for `bytes` on each rank, one rank after the other in one piece that every rank maps: this rank's part,
/// behind which (by their bytes) the higher ranks' parts follow, and before which the lower ranks' end. It is released
/// when the last rank lets go of it; letting go is local. Collective. Throws Error on all ranks where memory cannot be
/// shared.
std::shared_ptr<std::byte> share_memory(const Communicator &comm, std::int64_t bytes);

/// Puts a part of what `share_memory` gave on large pages. Systems do not do so by themselves for memory that is
/// shared, and small ones are missed by the processor's tables all the time; Linux does it from 6.1 on when asked.
/// Where it does not, that costs speed and nothing else. For the rank that uses the part most; values stay. Local.
void use_large_pages(const std::byte *memory, std::int64_t bytes);

/// The same as values of T, on large pages.
template <class T> Buffer<T> shared_buffer(const Communicator &comm, std::int64_t size) {
  const std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(T));
  const auto memory = share_memory(comm, bytes);
  use_large_pages(memory.get(), bytes);
  return Buffer<T>(std::shared_ptr<T>(memory, reinterpret_cast<T *>(memory.get())), size);
}

} // namespace tailrace::grid
