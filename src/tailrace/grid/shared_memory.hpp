#pragma once

#include <tailrace/grid/buffer.hpp>
#include <tailrace/support/communicator.hpp>

namespace tailrace::grid {

/// Whether all ranks of `comm` can map each other's memory: they run on one node as one user, and the system permits
/// it. Collective; all ranks get the same answer.
bool can_share_memory(const Communicator &comm);

/// Memory that all ranks map: one piece with the parts of all ranks, in the order of the ranks and without gaps. Each
/// rank chooses the size of its own part, `bytes`, and gets a pointer to it; the parts of higher ranks follow it and
/// those of lower ranks end before it. Collective. The memory is freed when all ranks have released it; releasing it is
/// local. Throws Error on all ranks if memory cannot be shared.
std::shared_ptr<std::byte> share_memory(const Communicator &comm, std::int64_t bytes);

/// Moves a part of the memory of `share_memory` to large pages, with its values. Systems do not do so by themselves for
/// shared memory, and with small pages sweeps miss the processor's table of pages most of the time. Linux does it on
/// request from version 6.1 on; on other systems this call has no effect. To be called by the rank that uses the part
/// most. Local.
void use_large_pages(const std::byte *memory, std::int64_t bytes);

/// Memory of `share_memory` on large pages, for `size` values of T on this rank. Collective.
template <class T> Buffer<T> shared_buffer(const Communicator &comm, std::int64_t size) {
  const std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(T));
  const auto memory = share_memory(comm, bytes);
  use_large_pages(memory.get(), bytes);
  return Buffer<T>(std::shared_ptr<T>(memory, reinterpret_cast<T *>(memory.get())), size);
}

} // namespace tailrace::grid
