#pragma once

#include <tailrace/ops/lanes/per_lane.hpp>

namespace tailrace::ops {

/// What the threads of a block of a device do together; each warp of them shares the lines that it is given. On a host
/// they run one after the other between two calls of `sync`, the lanes in the order of Warp.
template <int threads> struct Block {
  static constexpr int warps = threads / warp_lanes;

  /// Calls function(thread) on each of them.
  template <class Function> TAILRACE_LANES static void each(const Function &function) {
#ifdef __CUDA_ARCH__
    function(static_cast<int>(threadIdx.x));
#else
    for (int warp = 0; warp < warps; ++warp)
      for (const int lane : Warp::order())
        function(warp * warp_lanes + lane);
#endif
  }
  /// Calls function(warp) once for each warp; in it the lanes run by Warp::each.
  template <class Function> TAILRACE_LANES static void each_warp(const Function &function) {
#ifdef __CUDA_ARCH__
    function(static_cast<int>(threadIdx.x) / warp_lanes);
#else
    for (int warp = 0; warp < warps; ++warp)
      function(warp);
#endif
  }
  /// What threads have written to memory that they share can be read by the others afterwards.
  TAILRACE_LANES static void sync() {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
};

} // namespace tailrace::ops
