#pragma once

#include <tailrace/ops/lanes/lane_solver.hpp>

// What the lanes of a warp do with the lines of a few fields along one direction, in place. The order of operations is
// that of flow/convection_diffusion.cpp and flow/projection.cpp.

namespace tailrace::gpu {

using ops::LaneRows;
using ops::LaneSystem;
using ops::Operation;
using ops::PaddedLine;
using ops::Parity;
using ops::PerLane;
using ops::Warp;

/// The lines of a warp, one after the other in the memory of its block.
template <class T, int rows> struct LineMemory {
  T *first;
  std::int64_t apart; ///< values from one line to the next
  TAILRACE_LANES PaddedLine<T, rows> operator[](int k) const { return PaddedLine<T, rows>(first + k * apart); }
};

/// Schemes with fewer pairs are solved as those with the most, by weights of zero, so that a stage is one kernel.
template <class T, Operation op, class Line, int rows>
TAILRACE_LANES void solve(const LaneSystem<T> &system, const Line &line, PerLane<LaneRows<T, rows>> &x) {
  constexpr bool wide = op == Operation::second_derivative || !ops::is_derivative(op);
  ops::solve_line<T, op, wide ? 4 : 2>(system, line, x);
}

/// Puts results into a line that no lane reads any more, or adds them to those that are there.
template <bool adds = false, class T, int rows>
TAILRACE_LANES void put(const PerLane<LaneRows<T, rows>> &x, const PaddedLine<T, rows> &line, int points) {
  Warp::sync();
  Warp::each([&](int lane) {
    TAILRACE_UNROLL
    for (int j = 0; j < rows; ++j)
      if (lane * rows + j < points)
        line[lane * rows + j] = adds ? line[lane * rows + j] + x[lane].row[j] : x[lane].row[j];
  });
}

/// Fills the ghost points of a line, each lane one of them; `fill(g)` fills number g at both ends.
template <class Fill> TAILRACE_LANES void fill_ghosts(const Fill &fill) {
  Warp::each([&](int lane) {
    if (lane < ops::line_ghosts)
      fill(lane + 1);
  });
}

/// One direction's part of the momentum equation for the three components; see flow::MomentumEquations.
template <class T> struct Convect {
  struct Systems {
    const LaneSystem<T> *gradient, *flux, *diffusion;
  };
  int direction, points;
  grid::Sides sides;
  Systems normal, tangential;
  const T *slope; ///< see flow::momentum_slope; null where it is zero

  template <int rows> TAILRACE_LANES void begin(const LineMemory<T, rows> &u) const {
    for (int i = 0; i < 3; ++i)
      fill_ghosts([&](int g) {
        ops::fill_ghost<T>(u[i], points, sides, i == direction ? Parity::odd : Parity::even, false, g);
      });
    Warp::sync();
  }
  /// The part of component i; each lane gets its rows.
  template <int rows>
  TAILRACE_LANES void part(int i, const LineMemory<T, rows> &u, PerLane<LaneRows<T, rows>> &sum) const {
    const Systems &systems = i == direction ? normal : tangential;
    const PaddedLine<T, rows> ud = u[direction], ui = u[i];
    PerLane<LaneRows<T, rows>> x;
    const auto add = [&] {
      Warp::each([&](int lane) {
        TAILRACE_UNROLL
        for (int j = 0; j < rows; ++j)
          sum[lane].row[j] += x[lane].row[j];
      });
    };
    solve<T, Operation::first_derivative>(*systems.gradient, ui, sum);
    Warp::each([&](int lane) {
      TAILRACE_UNROLL
      for (int j = 0; j < rows; ++j)
        if (const int at = lane * rows + j; at < points)
          sum[lane].row[j] *= slope == nullptr ? ud[at] : ud[at] + slope[at];
    });
    solve<T, Operation::first_derivative>(*systems.flux, ops::ProductLine<T, rows>{ud, ui}, x);
    add();
    solve<T, Operation::second_derivative>(*systems.diffusion, ui, x);
    add();
  }

  static constexpr int inputs = 3, outputs = 3, buffers = 3;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &u) const {
    begin(u);
    for (int k = 1; k <= 3; ++k) { // the normal one last: the others need it
      const int i = (direction + k) % 3;
      PerLane<LaneRows<T, rows>> sum;
      part(i, u, sum);
      put(sum, u[i], points);
    }
  }
};

/// The four staggered operators of a direction; see flow::StaggeredEquations.
template <class T> struct Staggered {
  grid::Sides sides;
  int nodes, cells;
  const LaneSystem<T> *derivative_to_centre, *average_to_centre, *derivative_to_node, *average_to_node;

  /// Applies one of them to a line; `to` may be the same line. A velocity that is derived is the normal one; all else
  /// is even.
  template <Operation op, bool adds = false, int rows>
  TAILRACE_LANES void apply(const PaddedLine<T, rows> &in, const PaddedLine<T, rows> &to) const {
    constexpr bool to_cells = ops::to_centre(op);
    fill_ghosts([&](int g) {
      if constexpr (op == Operation::derivative_to_centre)
        ops::fill_ghost_about_ends<T>(in, nodes, sides, g);
      else
        ops::fill_ghost<T>(in, to_cells ? nodes : cells, sides, Parity::even, !to_cells, g);
    });
    Warp::sync();
    PerLane<LaneRows<T, rows>> x;
    solve<T, op>(system<op>(), in, x);
    put<adds>(x, to, to_cells ? cells : nodes);
  }

private:
  template <Operation op> TAILRACE_LANES const LaneSystem<T> &system() const {
    if constexpr (ops::to_centre(op))
      return op == Operation::derivative_to_centre ? *derivative_to_centre : *average_to_centre;
    else
      return op == Operation::derivative_to_node ? *derivative_to_node : *average_to_node;
  }
};

/// du/dx on the cells, and v and w averaged to them, along x.
template <class T> struct DivergenceX {
  static constexpr int inputs = 3, outputs = 3, buffers = 3;
  Staggered<T> x;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &u) const {
    x.template apply<Operation::derivative_to_centre>(u[0], u[0]);
    x.template apply<Operation::interpolate_to_centre>(u[1], u[1]);
    x.template apply<Operation::interpolate_to_centre>(u[2], u[2]);
  }
};

/// The average of the first plus the derivative of the second, and the average of the third, along y.
template <class T> struct DivergenceY {
  static constexpr int inputs = 3, outputs = 2, buffers = 3;
  Staggered<T> y;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &u) const {
    y.template apply<Operation::interpolate_to_centre>(u[0], u[0]);
    y.template apply<Operation::derivative_to_centre, true>(u[1], u[0]);
    y.template apply<Operation::interpolate_to_centre>(u[2], u[1]);
  }
};

/// The average of the first plus the derivative of the second along z: the divergence.
template <class T> struct DivergenceZ {
  static constexpr int inputs = 2, outputs = 1, buffers = 2;
  Staggered<T> z;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &u) const {
    z.template apply<Operation::interpolate_to_centre>(u[0], u[0]);
    z.template apply<Operation::derivative_to_centre, true>(u[1], u[0]);
  }
};

/// phi averaged to the nodes in z, and its derivative there.
template <class T> struct GradientZ {
  static constexpr int inputs = 1, outputs = 2, buffers = 2;
  Staggered<T> z;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &phi) const {
    z.template apply<Operation::derivative_to_node>(phi[0], phi[1]);
    z.template apply<Operation::interpolate_to_node>(phi[0], phi[0]);
  }
};

/// From the averaged phi and d phi / dz: the average of the first, its derivative, and the average of the second.
template <class T> struct GradientY {
  static constexpr int inputs = 2, outputs = 3, buffers = 3;
  Staggered<T> y;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &phi) const {
    y.template apply<Operation::interpolate_to_node>(phi[1], phi[2]);
    y.template apply<Operation::derivative_to_node>(phi[0], phi[1]);
    y.template apply<Operation::interpolate_to_node>(phi[0], phi[0]);
  }
};

/// The gradient: the derivative of the first, and the averages of the others, along x.
template <class T> struct GradientX {
  static constexpr int inputs = 3, outputs = 3, buffers = 3;
  Staggered<T> x;
  template <int rows> TAILRACE_LANES void operator()(const LineMemory<T, rows> &phi) const {
    x.template apply<Operation::derivative_to_node>(phi[0], phi[0]);
    x.template apply<Operation::interpolate_to_node>(phi[1], phi[1]);
    x.template apply<Operation::interpolate_to_node>(phi[2], phi[2]);
  }
};

} // namespace tailrace::gpu
