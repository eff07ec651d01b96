#pragma once

namespace tailrace {

/// From now on this process keeps the memory that it frees, and uses it again. Without this, a system that gives out
/// large blocks clears all their pages each time, which took longer than the copying of a stream of steps into them.
/// For programs whose steps are alike. It affects the whole process, so a library must not call it. Does nothing
/// without glibc. Local.
void keep_freed_memory();

} // namespace tailrace
