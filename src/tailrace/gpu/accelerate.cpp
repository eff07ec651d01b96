#include <tailrace/gpu/accelerate.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <utility>

#if TAILRACE_GPU
#include <tailrace/gpu/flow_on_device.hpp>
#endif

namespace tailrace::gpu {

using namespace grid;
using namespace flow;

#if TAILRACE_GPU
namespace {
/// The first thing about a flow that devices do not compute yet, or nothing.
std::string missing(const Grid &grid, const FlowOptions &options, int rows, bool has_body) {
  constexpr std::int64_t longest = std::int64_t{ops::warp_lanes} * ops::most_rows_per_lane;
  const std::string too_long = fmt::format("lines of more than {} nodes", longest);
  bool is_long = false;
  for (const std::int64_t nodes : grid.nodes)
    is_long = is_long || nodes > longest;
  const bool couples = grid.stretching.has_value() && !grid.periodic(2);
  const std::pair<bool, const char *> known[] = {
      {rows > 1, "a process grid of several rows (parallel.rows)"},
      {is_long, too_long.c_str()},
      {couples, "a stretched y (grid.stretching) where z is not periodic"},
      {options.wall_divergence == ops::WallDivergence::one_sided, "a one-sided divergence (numerics.wall_divergence)"},
      {options.eddy_model.has_value(), "an eddy viscosity (numerics.eddy_viscosity)"},
      {has_body, "a body"},
      {options.implicit_y, "implicit diffusion (numerics.implicit_y)"},
  };
  for (const auto &[is_there, name] : known)
    if (is_there)
      return name;
  return {};
}
} // namespace

std::string device_name() { return device::name(); }

template <class T> void accelerate(NavierStokes<T> &flow) {
  const FlowOptions &options = flow.options();
  if (const std::string what = missing(flow.grid(), options, flow.nodes().processes().rows(), flow.body() != nullptr);
      !what.empty())
    throw InputError(fmt::format("a device does not compute flows with {} yet; compute on the processor "
                                 "(numerics.device = \"cpu\")",
                                 what));
  std::vector<ScalarParameters> scalars;
  for (const ScalarOptions &scalar : options.scalars)
    scalars.push_back(
        {scalar.diffusivity, scalar.boundaries, scalar.buoyancy, scalar.settling, scalar.least, scalar.most});
  flow.accelerate(std::make_unique<FlowOnDevice<T>>(flow.grid(), options.viscosity, options.hyperviscosity,
                                                    options.interpolation, options.scheme,
                                                    flow.nodes().shared_processes(), scalars));
}

#else

namespace {
[[noreturn]] void refuse() {
  throw InputError("this Tailrace was built without devices; build it with -DTAILRACE_GPU=CUDA, or compute on the "
                   "processor (numerics.device = \"cpu\")");
}
} // namespace

std::string device_name() { refuse(); }
template <class T> void accelerate(NavierStokes<T> &) { refuse(); }

#endif

template void accelerate(NavierStokes<float> &);
template void accelerate(NavierStokes<double> &);

} // namespace tailrace::gpu
