#include "bindings.hpp"
#include <tailrace/flow/diagnostics.hpp>
#include <tailrace/flow/navier_stokes.hpp>

#include <nanobind/stl/function.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;

namespace {

/// A flow and its measurements as one Python object.
template <class T> struct Flow {
  Flow(const Grid &grid, const FlowOptions &options, std::shared_ptr<ProcessGrid> processes, TransposeMethod method)
      : solver(grid, options, processes, method), diagnostics(solver, processes, method) {}
  NavierStokes<T> solver;
  Diagnostics<T> diagnostics;
};

template <class T> void bind_flow_type(nb::module_ &m, const char *name) {
  nb::class_<Flow<T>>(m, name, "Incompressible Navier-Stokes; see tailrace.Simulation.")
      .def(
          "__init__",
          [](Flow<T> *self, const Grid &grid, std::shared_ptr<ProcessGrid> processes, double viscosity,
             const std::string &scheme, const std::string &interpolation, const std::string &method) {
            new (self) Flow<T>(grid, {viscosity, time_scheme_from_name(scheme), interpolation_from_name(interpolation)},
                               processes, transpose_method_from_name(method));
          },
          nb::arg("grid"), nb::arg("processes"), nb::arg("viscosity"), nb::arg("scheme"), nb::arg("interpolation"),
          nb::arg("method"))
      .def(
          "step",
          [](Flow<T> &self, double dt, const std::function<void(double)> &set_force) {
            self.diagnostics.invalidate(); // also where `set_force` throws
            self.solver.step(dt, set_force);
            self.diagnostics.invalidate(); // `set_force` may have asked for some
          },
          nb::arg("dt"), nb::arg("set_force").none(), nb::call_guard<nb::gil_scoped_release>(),
          "`set_force` is called before each stage with its time since the start of the step.")
      .def("add_force", [](Flow<T> &self) { self.solver.add_force(); })
      .def(
          "force",
          [](nb::handle_t<Flow<T>> self, int component) {
            Field<T> &field = nb::cast<Flow<T> &>(self).solver.force(component);
            return view(field.data(), field.box().count, self);
          },
          nb::arg("component"))
      .def_prop_ro("box",
                   [](const Flow<T> &self) {
                     const Box box = self.solver.nodes().box(Pencil::x);
                     return std::pair(box.start, box.count);
                   })
      .def_prop_rw(
          "steps", [](const Flow<T> &self) { return self.solver.steps(); },
          [](Flow<T> &self, long n) { self.solver.set_steps(n); })
      .def(
          "velocity",
          [](nb::handle_t<Flow<T>> self, int component) {
            Field<T> &field = nb::cast<Flow<T> &>(self).solver.velocity(component);
            return view(field.data(), field.box().count, self);
          },
          nb::arg("component"))
      .def_prop_ro("history_ages",
                   [](const Flow<T> &self) {
                     const TimeScheme scheme = self.solver.options().scheme;
                     return history_outlives_step(scheme) ? stored_right_hand_sides(scheme) : 0;
                   })
      .def(
          "history",
          [](nb::handle_t<Flow<T>> self, int age, int component) {
            Field<T> &field = nb::cast<Flow<T> &>(self).solver.history(age, component);
            return view(field.data(), field.box().count, self);
          },
          nb::arg("age"), nb::arg("component"))
      .def(
          "project", [](Flow<T> &self) { self.solver.project(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "invalidate", [](Flow<T> &self) { self.diagnostics.invalidate(); }, "Call after changing the velocity.")
      .def(
          "averages",
          [](Flow<T> &self, double dt) {
            const VolumeAverages n = self.diagnostics.averages(dt);
            return std::map<std::string, double>{{"kinetic_energy", n.kinetic_energy},
                                                 {"dissipation", n.dissipation},
                                                 {"dissipation_laplacian", n.dissipation_laplacian},
                                                 {"enstrophy", n.enstrophy},
                                                 {"max_divergence", n.max_divergence},
                                                 {"cfl", n.cfl}};
          },
          nb::arg("dt"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "max_divergence", [](Flow<T> &self) { return self.solver.max_divergence(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "derive",
          [](Flow<T> &self, const std::string &field) {
            const Index3 count = self.solver.nodes().box(Pencil::x).count;
            Buffer<T> out(product(count));
            {
              nb::gil_scoped_release release;
              self.diagnostics.derive(field, out.data());
            }
            return adopt(std::move(out), count);
          },
          nb::arg("name"))
      .def_static(
          "least_bytes_per_node",
          [](const std::string &scheme) {
            return NavierStokes<T>::least_bytes_per_node(time_scheme_from_name(scheme));
          },
          nb::arg("scheme"))
      .def("find_bad_point",
           [](const Flow<T> &self) -> std::optional<std::pair<int, Index3>> {
             const auto bad = self.diagnostics.find_bad_point();
             if (!bad)
               return std::nullopt;
             return std::pair(bad->component, bad->node);
           })
      .def_prop_ro("times", [](const Flow<T> &self) {
        const FlowTimes times = self.solver.times();
        return std::map<std::string, double>{
            {"convection", times.convection}, {"pressure", times.pressure}, {"transposes", times.transposes}};
      });
}

} // namespace

void bind_flow(nb::module_ &m) {
  bind_flow_type<double>(m, "Flow64");
  bind_flow_type<float>(m, "Flow32");
}
