#pragma once

namespace tailrace {

/// From now on memory that this process frees stays with it, to be given out again: a system that hands out large
/// blocks anew clears every page of them, which for the copies of a stream of steps took longer than copying. For
/// programs whose steps are alike; it holds for the whole process, so a library does not call it. Does nothing but with
/// glibc. Local.
void keep_freed_memory();

} // namespace tailrace
