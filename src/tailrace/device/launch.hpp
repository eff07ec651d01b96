#pragma once

#include <tailrace/device/stream.hpp>
#include <tailrace/ops/lanes/thread_block.hpp>

#include <cstdint>
#include <limits>
#include <vector>

#ifdef __CUDACC__
#include <tailrace/device/cuda_check.hpp>
#endif

namespace tailrace::device {

/// The place of a block among those that work on one thing.
struct Place {
  int x, y;
};

#ifdef __CUDACC__

/// body(place, memory): `memory` is what the threads of a block share.
template <int threads, class Body>
__global__ void __launch_bounds__(threads, 1) run_blocks(const __grid_constant__ Body body) {
  extern __shared__ double memory[];
  body(Place{static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y)}, memory);
}

template <int threads, class Body>
void launch(const Stream &stream, Place blocks, std::size_t shared_bytes, const Body &body) {
  if (blocks.x == 0 || blocks.y == 0)
    return; // a rank may have nothing
  const auto kernel = run_blocks<threads, Body>;
  constexpr std::size_t usual = 48 * 1024; // what a kernel may have without being asked for
  if (shared_bytes > usual)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "reserve the shared memory that lines of so many nodes need (grid.points; A100, H100 and H200 have it)");
  const dim3 grid(static_cast<unsigned>(blocks.x), static_cast<unsigned>(blocks.y));
  kernel<<<grid, threads, shared_bytes, static_cast<cudaStream_t>(stream.handle())>>>(body);
  check(cudaGetLastError(), "start a kernel");
}

#else

/// Runs body(place, memory) for each place below `blocks`; `memory` is what the threads of a block share. Blocks may
/// run in any order, on the host from the last to the first.
template <int threads, class Body>
void launch(const Stream &, Place blocks, std::size_t shared_bytes, const Body &body) {
  // What nobody has written is not a number, so that it shows in results.
  std::vector<double> memory(shared_bytes / sizeof(double) + 1, std::numeric_limits<double>::quiet_NaN());
  for (int y = blocks.y - 1; y >= 0; --y)
    for (int x = blocks.x - 1; x >= 0; --x)
      body(Place{x, y}, memory.data());
}

#endif

} // namespace tailrace::device
