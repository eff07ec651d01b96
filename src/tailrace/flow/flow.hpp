#pragma once

#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/flow/navier_stokes.hpp>

#include <array>
#include <memory>
#include <string>

namespace tailrace::flow {

/// A flow and what is measured of it: the solver, and diagnostics that follow its changes. Change the velocity by
/// `solver` and call `diagnostics.invalidate()`; the functions here do that themselves. Collective.
template <class T> struct Flow {
  Flow(const grid::Grid &grid, const FlowOptions &options, std::shared_ptr<grid::ProcessGrid> processes,
       grid::TransposeMethod method)
      : solver(grid, options, processes, method), diagnostics(solver, processes, method) {}

  /// One step; `prepare` is called before each stage, and may ask for diagnostics. See NavierStokes::step.
  void step(double dt, const typename NavierStokes<T>::Prepare &prepare = {}) {
    diagnostics.invalidate(); // also if `prepare` throws
    solver.step(dt, prepare);
    diagnostics.invalidate();
  }

  /// See NavierStokes::set_body.
  void set_body(const Indicator &indicator, int refinement) {
    diagnostics.invalidate();
    solver.set_body(indicator, refinement);
  }

  /// Twice the angular velocity, instead of that of the options.
  void set_coriolis(const std::array<double, 3> &coriolis) {
    solver.set_coriolis(coriolis);
    diagnostics.invalidate();
  }

  NavierStokes<T> solver;
  Diagnostics<T> diagnostics;
};

} // namespace tailrace::flow
