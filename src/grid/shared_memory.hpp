#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/support/communicator.hpp>

namespace tailrace {

/// Whether all ranks of `comm` can map each other's memory: same node, same user, and the system lets them. Collective;
/// the same answer everywhere.
bool can_share_memory(const Communicator &comm);

/// Memory for `bytes` on each rank, one rank after the other in one piece that every rank maps: this rank's part,
/// behind which (by their bytes) the higher ranks' parts follow, and before which the lower ranks' end. It is released
/// when the last rank lets go of it; letting go is local. Collective. Throws Error on all ranks where memory cannot be
/// shared.
std::shared_ptr<std::byte> share_memory(const Communicator &comm, std::int64_t bytes);

/// The same as values of T.
template <class T> Buffer<T> shared_buffer(const Communicator &comm, std::int64_t size) {
  const auto memory = share_memory(comm, size * static_cast<std::int64_t>(sizeof(T)));
  return Buffer<T>(std::shared_ptr<T>(memory, reinterpret_cast<T *>(memory.get())), size);
}

} // namespace tailrace
