#pragma once

#include <tailrace/device/array.hpp>
#include <tailrace/gpu/lane_sweep.hpp>

#include <algorithm>
#include <vector>

namespace tailrace::gpu {

/// The equations of a few schemes along a direction, prepared for lanes, in the memory of the device.
template <class T> class Systems {
public:
  Systems() = default;
  Systems(const device::Stream &stream, const std::vector<const ops::LineEquations *> &equations) {
    std::vector<LaneSystem<T>> systems;
    for (const ops::LineEquations *one : equations) {
      systems.emplace_back(*one, rows_for(std::max(one->points_in, one->points_out)));
      if (one->metric.empty())
        continue;
      metrics_.emplace_back(stream, std::vector<T>(one->metric.begin(), one->metric.end()));
      systems.back().metric = metrics_.back().data();
    }
    systems_ = device::Array<LaneSystem<T>>(stream, systems);
  }
  const LaneSystem<T> *operator[](int number) const { return systems_.data() + number; }

private:
  device::Array<LaneSystem<T>> systems_;
  std::vector<device::Array<T>> metrics_;
};

} // namespace tailrace::gpu
