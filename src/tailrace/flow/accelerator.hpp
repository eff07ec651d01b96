#pragma once

#include <tailrace/flow/equations/steady_force.hpp>
#include <tailrace/flow/time_integration.hpp>

#include <array>
#include <vector>

namespace tailrace::flow {

/// A device on which the stages of a flow are computed, in place of the processor. It keeps its own fields between
/// steps: numbers 0 to 2 are the components of the velocity, those from 3 on the scalars; each has right-hand sides.
/// NavierStokes copies them where one side has newer ones. Arrays are of the host, over this rank's X pencil of the
/// nodes. Collective.
template <class T> class Accelerator {
public:
  virtual ~Accelerator() = default;

  /// A field, to the device and from it.
  virtual void put(int field, const T *values) = 0;
  virtual void get(int field, T *values) = 0;
  /// Its right-hand side `age` stages ago (1 is the newest).
  virtual void put_history(int age, int field, const T *values) = 0;
  virtual void get_history(int age, int field, T *values) = 0;
  /// Its planes at an end of direction d, `depth` of them, in an array of the whole field, of which the rest is left
  /// alone.
  virtual void put_end(int field, int d, bool upper, int depth, const T *values) = 0;
  virtual void get_end(int field, int d, bool upper, int depth, T *values) = 0;
  /// Component i of a force in space and time, for the stages from now on.
  virtual void put_force(int i, const T *values) = 0;

  /// See NavierStokes::advance; at free slip the normal velocity is set to zero.
  virtual void advance(const Stage &stage, double dt, const SteadyForces &forces) = 0;
  /// See Projection.
  virtual void project() = 0;
  /// The phi of the last projection, on the cells, this rank's Z pencil.
  virtual void potential(T *phi) = 0;

  /// Adds a number to a field.
  virtual void shift(int field, T by) = 0;
  /// The sums of weights times values of a field along x, row by row.
  virtual std::vector<double> sums_of_rows(int field, const std::vector<double> &weights) = 0;
  /// The same of products of two fields.
  virtual std::vector<double> products_of_rows(int a, int b, const std::vector<double> &weights) = 0;
  /// The same of products of the velocity gradient g_id = d u_i / d x_d: of g_ii^2, of the other g_id^2, and of g_id
  /// g_di with i < d.
  virtual std::array<std::vector<double>, 3> gradients_of_rows(const std::vector<double> &weights) = 0;
  /// The same of u_i times its second derivative along x, y and z; with the hyperviscosity of the flow, or without.
  virtual std::array<std::vector<double>, 3> diffusion_of_rows(const std::vector<double> &weights,
                                                               bool hyperviscous) = 0;
  /// The largest |div u| on the cells of this rank; infinite if it is not a number.
  virtual double max_divergence() = 0;
  /// The largest `node_rate` of each row. `inverse`: 1 / h_d at this rank's nodes.
  virtual std::vector<double> rates_of_rows(const std::array<std::vector<double>, 3> &inverse) = 0;
  /// Seconds of transposes since the start.
  virtual double seconds_of_exchange() const = 0;
};

} // namespace tailrace::flow
