#include <tailrace/support/freed_memory.hpp>

#include <climits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tailrace {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, INT_MAX); // blocks below come from the heap,
  mallopt(M_TRIM_THRESHOLD, INT_MAX); // which shrinks only when that much of its end is free
#endif
}

} // namespace tailrace
