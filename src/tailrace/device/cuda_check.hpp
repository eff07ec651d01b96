#pragma once

#include <cuda_runtime.h>

namespace tailrace::device {

/// Throws Error, with what was to be done, unless the call did it.
void check(cudaError_t error, const char *what);

} // namespace tailrace::device
