#pragma once

namespace tailrace {

/// From this call on the process keeps memory that it frees, for later allocations. Otherwise the system clears every
/// page of large blocks at each allocation, which took longer than copying the steps of a stream into them. Useful for
/// programs that allocate the same sizes in every step. It changes the whole process, so a library should not call it.
/// Has an effect with glibc only. Local.
void keep_freed_memory();

} // namespace tailrace
