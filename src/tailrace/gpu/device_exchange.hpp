#pragma once

#include <tailrace/device/stream.hpp>
#include <tailrace/grid/decomposition.hpp>

#include <memory>
#include <vector>

namespace tailrace::gpu {

/// Moves arrays in the memory of devices between the Y and the Z pencils of slabs of ranks; see grid::Exchange. They
/// travel through the memory of the host.
template <class V> class DeviceExchange {
public:
  DeviceExchange(const device::Stream &stream, const grid::Decomposition &decomposition);
  ~DeviceExchange();
  DeviceExchange(const DeviceExchange &) = delete;
  DeviceExchange &operator=(const DeviceExchange &) = delete;

  /// Whether no data need to move, because there is one rank.
  bool is_free() const;
  /// `in` where no data need to move, else `out`, filled. Collective.
  std::vector<V *> move(grid::Pencil from, grid::Pencil to, const std::vector<V *> &in, const std::vector<V *> &out);
  V *move(grid::Pencil from, grid::Pencil to, V *in, V *out) {
    return move(from, to, std::vector<V *>{in}, std::vector<V *>{out}).front();
  }
  /// Seconds in it since the start, on this rank.
  double seconds() const;

private:
  struct OnHost;
  const device::Stream &stream_;
  std::unique_ptr<OnHost> host_;
};

} // namespace tailrace::gpu
