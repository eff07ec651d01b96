#pragma once

#include <array>

#ifdef __CUDACC__
#define TAILRACE_LANES __host__ __device__ __forceinline__
#else
#define TAILRACE_LANES inline
#endif
#ifdef __CUDA_ARCH__
#define TAILRACE_UNROLL _Pragma("unroll")
#else
#define TAILRACE_UNROLL
#endif

namespace tailrace::ops {

/// Lanes that share a line: those of a warp of a device. On a host they run one after the other, from the same source.
inline constexpr int warp_lanes = 32;

/// A value of each lane: a register on a device, an array on a host.
template <class V> struct PerLane {
#ifdef __CUDA_ARCH__
  V value;
  TAILRACE_LANES V &operator[](int) { return value; }
  TAILRACE_LANES const V &operator[](int) const { return value; }
#else
  V values[warp_lanes];
  V &operator[](int lane) { return values[lane]; }
  const V &operator[](int lane) const { return values[lane]; }
#endif
};

/// What the lanes of a line do together.
struct Warp {
  /// The order in which a host runs the lanes, for tests: what it changes is a race on a device.
  static std::array<int, warp_lanes> &order() {
    thread_local std::array<int, warp_lanes> order = in_order();
    return order;
  }
  static constexpr std::array<int, warp_lanes> in_order() {
    std::array<int, warp_lanes> order{};
    for (int lane = 0; lane < warp_lanes; ++lane)
      order[static_cast<std::size_t>(lane)] = lane;
    return order;
  }

  template <class Function> TAILRACE_LANES static void each(const Function &function) {
#ifdef __CUDA_ARCH__
    function(static_cast<int>(threadIdx.x) % warp_lanes);
#else
    for (const int lane : order())
      function(lane);
#endif
  }

  /// What lanes have written to memory that they share can be read by the others afterwards.
  TAILRACE_LANES static void sync() {
#ifdef __CUDA_ARCH__
    __syncwarp();
#endif
  }

  /// Each lane gets the value of the lane `by` before it, cyclically; of one after it where `by` is negative.
  template <class T> TAILRACE_LANES static PerLane<T> rotate(const PerLane<T> &from, int by) {
    PerLane<T> to;
#ifdef __CUDA_ARCH__
    to.value = __shfl_sync(0xffffffffu, from.value, static_cast<int>(threadIdx.x) - by, warp_lanes);
#else
    for (int lane = 0; lane < warp_lanes; ++lane)
      to[lane] = from[(lane - by) & (warp_lanes - 1)];
#endif
    return to;
  }

  /// The value of one lane, for all of them.
  template <class T> TAILRACE_LANES static T of(const PerLane<T> &from, int lane) {
#ifdef __CUDA_ARCH__
    return __shfl_sync(0xffffffffu, from.value, lane, warp_lanes);
#else
    return from[lane];
#endif
  }
};

} // namespace tailrace::ops
