#pragma once

#include <tailrace/flow/navier_stokes.hpp>

#include <string>

namespace tailrace::gpu {

/// The name of the device of this process. Local. Throws InputError if it has none.
std::string device_name();

/// Has the steps of a flow computed on the device of this process. Collective. Throws InputError for flows that devices
/// do not compute yet, and where there is no device.
template <class T> void accelerate(flow::NavierStokes<T> &flow);

} // namespace tailrace::gpu
