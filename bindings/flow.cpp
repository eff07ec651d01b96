#include <tailrace/flow/flow.hpp>

#include "bindings.hpp"
#include <tailrace/flow/control_volume.hpp>
#include <tailrace/gpu/accelerate.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/function.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;

namespace {

/// A Python function that gets three arrays and fills a fourth, as an indicator. What it raises becomes an InputError.
Indicator indicator_from(const nb::object &fill) {
  return [fill](std::span<const double> x, std::span<const double> y, std::span<const double> z,
                std::span<std::uint8_t> inside) {
    using Coordinates = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;
    using Flags = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
    const auto array = [](std::span<const double> values) { return Coordinates(values.data(), {values.size()}); };
    try {
      fill(nb::cast(array(x), nb::rv_policy::reference), nb::cast(array(y), nb::rv_policy::reference),
           nb::cast(array(z), nb::rv_policy::reference),
           nb::cast(Flags(inside.data(), {inside.size()}), nb::rv_policy::reference));
    } catch (nb::python_error &error) {
      throw InputError(nb::cast<std::string>(nb::str(error.value())));
    }
  };
}

/// A view of a field of the solver that `find(solver)` returns; it keeps the flow alive.
template <class T, class Find> Array<T> view_of(nb::handle_t<Flow<T>> self, Find find) {
  Field<T> &field = find(nb::cast<Flow<T> &>(self).solver);
  return view(field.data(), field.box().count, self);
}

template <class T> void bind_steps(nb::class_<Flow<T>> &bound) {
  bound
      .def(
          "__init__",
          [](Flow<T> *self, const Grid &grid, std::shared_ptr<ProcessGrid> processes, const FlowOptions &options,
             const std::string &method) {
            new (self) Flow<T>(grid, options, processes, transpose_method_from_name(method));
          },
          nb::arg("grid"), nb::arg("processes"), nb::arg("options"), nb::arg("method"))
      .def(
          "step",
          [](Flow<T> &self, double dt, const typename NavierStokes<T>::Prepare &prepare) { self.step(dt, prepare); },
          nb::arg("dt"), nb::arg("prepare").none(), nb::call_guard<nb::gil_scoped_release>(),
          "`prepare` is called before each stage with the times of its start and its end since the start of the step.")
      .def(
          "make_outflow",
          [](Flow<T> &self, int direction, const std::string &speed, double value, bool balance) {
            using Kind = ConvectionSpeed::Kind;
            if (speed != "largest" && speed != "middle" && speed != "given")
              throw InputError(
                  fmt::format("speed '{}' of an outflow is unknown; choose largest, middle or given", speed));
            const Kind kind = speed == "largest" ? Kind::largest : speed == "middle" ? Kind::middle : Kind::given;
            self.solver.make_outflow(direction, {kind, value}, balance);
          },
          nb::arg("direction"), nb::arg("speed"), nb::arg("value"), nb::arg("balance"),
          "The upper end becomes an outflow; `speed` is largest, middle or given, then `value`.")
      .def(
          "set_body",
          [](Flow<T> &self, const nb::object &fill, int refinement) {
            self.set_body(indicator_from(fill), refinement);
          },
          nb::arg("fill"), nb::arg("refinement"),
          "`fill(x, y, z, inside)` sets inside to 1 at the points of a body; see tailrace.flow.body. Collective.")
      .def("add_force", [](Flow<T> &self) { self.solver.add_force(); })
      .def(
          "accelerate",
          [](Flow<T> &self) {
            gpu::accelerate(self.solver);
            return gpu::device_name();
          },
          nb::call_guard<nb::gil_scoped_release>(),
          "Has the steps computed by the device of this process; returns its name. See tailrace::gpu::accelerate.")
      .def_prop_ro("box",
                   [](const Flow<T> &self) {
                     const Box box = self.solver.nodes().box(Pencil::x);
                     return std::pair(box.start, box.count);
                   })
      .def_prop_rw(
          "steps", [](const Flow<T> &self) { return self.solver.steps(); },
          [](Flow<T> &self, long n) { self.solver.set_steps(n); })
      .def_prop_ro("history_ages",
                   [](const Flow<T> &self) {
                     const TimeScheme scheme = self.solver.options().scheme;
                     return history_outlives_step(scheme) ? stored_right_hand_sides(scheme) : 0;
                   })
      .def("set_coriolis", &Flow<T>::set_coriolis, nb::arg("coriolis"),
           "Twice the angular velocity, instead of that of the options.")
      .def(
          "project", [](Flow<T> &self) { self.solver.project(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "invalidate", [](Flow<T> &self) { self.diagnostics.invalidate(); }, "Call after changing the velocity.")
      .def_static(
          "least_bytes_per_node",
          [](const std::string &scheme) {
            return NavierStokes<T>::least_bytes_per_node(time_scheme_from_name(scheme));
          },
          nb::arg("scheme"));
}

template <class T> void bind_fields(nb::class_<Flow<T>> &bound) {
  bound
      .def(
          "body_mask",
          [](nb::handle_t<Flow<T>> self) -> std::optional<Array<std::uint8_t>> {
            Body<T> *body = nb::cast<Flow<T> &>(self).solver.body();
            if (body == nullptr)
              return std::nullopt;
            return view(body->solid().data(), body->solid().box().count, self);
          },
          "1 at the nodes in the body, else 0; None where there is no body.")
      .def(
          "face",
          [](nb::handle_t<Flow<T>> self, int direction, bool upper, int component, bool gradient) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & {
              Face<T> &face = solver.face(direction, upper);
              return (gradient ? face.gradient : face.value)[static_cast<std::size_t>(component)];
            });
          },
          nb::arg("direction"), nb::arg("upper"), nb::arg("component"), nb::arg("gradient") = false,
          "The velocity given at an end, or the gradient of the last pressure there; empty where it is not this "
          "rank's.")
      .def(
          "scalar",
          [](nb::handle_t<Flow<T>> self, std::size_t number) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & { return solver.scalar_values(number); });
          },
          nb::arg("number"))
      .def(
          "scalar_history",
          [](nb::handle_t<Flow<T>> self, std::size_t number, int age) {
            return view_of(self,
                           [&](NavierStokes<T> &solver) -> Field<T> & { return solver.scalar_history(age, number); });
          },
          nb::arg("number"), nb::arg("age"))
      .def(
          "scalar_face",
          [](nb::handle_t<Flow<T>> self, std::size_t number, int direction, bool upper) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & {
              return solver.scalars().at(number).given(direction, upper);
            });
          },
          nb::arg("number"), nb::arg("direction"), nb::arg("upper"))
      .def(
          "force",
          [](nb::handle_t<Flow<T>> self, int component) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & { return solver.force(component); });
          },
          nb::arg("component"))
      .def(
          "velocity",
          [](nb::handle_t<Flow<T>> self, int component) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & { return solver.velocity(component); });
          },
          nb::arg("component"))
      .def(
          "history",
          [](nb::handle_t<Flow<T>> self, int age, int component) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & { return solver.history(age, component); });
          },
          nb::arg("age"), nb::arg("component"))
      .def(
          "pressure_gradient",
          [](nb::handle_t<Flow<T>> self, int component) {
            return view_of(self, [&](NavierStokes<T> &solver) -> Field<T> & {
              if (!solver.options().implicit_y)
                throw InputError("the gradient of the pressure is kept only if diffusion along y is implicit");
              return solver.pressure_gradient(component);
            });
          },
          nb::arg("component"), "That of the last stage, kept where diffusion along y is implicit.");
}

template <class T> void bind_measures(nb::class_<Flow<T>> &bound) {
  bound
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
          "energy_rates",
          [](Flow<T> &self) {
            const EnergyRates n = self.diagnostics.energy_rates();
            return std::map<std::string, double>{
                {"hyperviscous", n.hyperviscous}, {"implicit", n.implicit}, {"eddy", n.eddy}, {"work", n.work}};
          },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "energy", [](Flow<T> &self) { return self.diagnostics.energy(); }, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "force_power", [](Flow<T> &self) { return self.diagnostics.force_power(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "flow_rate_force", [](const Flow<T> &self) { return self.solver.flow_rate_force(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "The force that kept the flow rate in the last step. Zero before the first step. Collective.")
      .def_prop_rw(
          "flow_rate_work",
          [](Flow<T> &self) { return self.solver.flow_rate() != nullptr ? self.solver.flow_rate()->work() : 0.0; },
          [](Flow<T> &self, double work) {
            if (self.solver.flow_rate() != nullptr)
              self.solver.flow_rate()->set_work(work);
          })
      .def(
          "mean_gradient",
          [](Flow<T> &self, int direction, bool upper) { return self.diagnostics.mean_gradient(direction, upper); },
          nb::arg("direction"), nb::arg("upper"), nb::call_guard<nb::gil_scoped_release>(),
          "The mean over an end of the derivatives of the velocity along its direction.")
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
      .def(
          "rate", [](Flow<T> &self) { return self.solver.rate(); }, nb::call_guard<nb::gil_scoped_release>(),
          "The largest sum |u_d| / h_d of a node; infinite where one is not finite. Collective.")
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

template <class T> void bind_flow_type(nb::module_ &m, const char *name) {
  nb::class_<Flow<T>> bound(m, name, "Incompressible Navier-Stokes; see tailrace.Simulation.");
  bind_steps(bound);
  bind_fields(bound);
  bind_measures(bound);
}

template <class T> void bind_control_volume(nb::module_ &m, const char *name) {
  nb::class_<ControlVolume<T>>(m, name, "A box around a body; see tailrace.flow.measuring.forces.")
      .def(
          "__init__",
          [](ControlVolume<T> *self, Flow<T> &flow, const Index3 &first, const Index3 &last) {
            new (self) ControlVolume<T>(flow.solver, flow.diagnostics, first, last);
          },
          nb::arg("flow"), nb::arg("first"), nb::arg("last"), nb::keep_alive<1, 2>())
      .def(
          "balance",
          [](ControlVolume<T> &self) {
            const MomentumBalance sums = self.balance();
            return std::map<std::string, MomentumBalance::Vector>{{"convection", sums.convection},
                                                                  {"pressure", sums.pressure},
                                                                  {"viscous", sums.viscous},
                                                                  {"driving", sums.driving}};
          },
          nb::call_guard<nb::gil_scoped_release>(), "Collective.")
      .def("momentum", &ControlVolume<T>::momentum, nb::call_guard<nb::gil_scoped_release>(), "Collective.");
}

} // namespace

void bind_flow(nb::module_ &m) {
  m.def("device_name", &gpu::device_name, "The name of the device of this process. InputError if it has none.");
  bind_flow_type<double>(m, "Flow64");
  bind_flow_type<float>(m, "Flow32");
  bind_control_volume<double>(m, "ControlVolume64");
  bind_control_volume<float>(m, "ControlVolume32");
}
