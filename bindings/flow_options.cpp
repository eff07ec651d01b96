#include "bindings.hpp"
#include <tailrace/flow/navier_stokes.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::flow;

namespace {

ScalarEnd scalar_end_from_name(const std::string &name) {
  if (name == "no-flux")
    return ScalarEnd::no_flux;
  if (name == "convected")
    return ScalarEnd::convected;
  if (name == "given")
    return ScalarEnd::given;
  if (name == "free")
    return ScalarEnd::free;
  throw InputError(fmt::format("end '{}' of a scalar is unknown; choose given, no-flux, convected or free", name));
}

} // namespace

void bind_flow_options(nb::module_ &m) {
  nb::class_<ScalarOptions>(m, "ScalarOptions", "A scalar of a flow besides its values.")
      .def(
          "__init__",
          [](ScalarOptions *self, double diffusivity, const std::array<std::string, 3> &boundaries,
             const std::array<std::array<std::string, 2>, 3> &ends, std::array<double, 3> buoyancy,
             std::array<double, 3> settling, std::optional<double> least, std::optional<double> most,
             double deposit_distance) {
            ScalarOptions options{
                diffusivity,
                {sides_from_name(boundaries[0]), sides_from_name(boundaries[1]), sides_from_name(boundaries[2])}};
            for (std::size_t d = 0; d < 3; ++d)
              for (std::size_t side = 0; side < 2; ++side)
                options.ends[d][side] = scalar_end_from_name(ends[d][side]);
            options.buoyancy = buoyancy;
            options.settling = settling;
            options.least = least.value_or(options.least);
            options.most = most.value_or(options.most);
            options.deposit_distance = deposit_distance;
            new (self) ScalarOptions(options);
          },
          nb::arg("diffusivity"), nb::arg("boundaries"), nb::arg("ends"), nb::arg("buoyancy"), nb::arg("settling"),
          nb::arg("least").none(), nb::arg("most").none(), nb::arg("deposit_distance") = 0.0,
          "`ends`, lower and upper in x, y and z, where the boundary is dirichlet: given, no-flux, convected or free.");

  nb::class_<FlowOptions>(m, "FlowOptions", "The parameters of a flow besides its grid.")
      .def(
          "__init__",
          [](FlowOptions *self, double viscosity, const std::string &scheme, const std::string &interpolation) {
            new (self) FlowOptions{viscosity, time_scheme_from_name(scheme), interpolation_from_name(interpolation)};
          },
          nb::arg("viscosity"), nb::arg("scheme"), nb::arg("interpolation"))
      .def(
          "set_hyperviscosity",
          [](FlowOptions &self, int d, double at_cutoff, double middle) {
            self.hyperviscosity.at(static_cast<std::size_t>(d)) = {at_cutoff, middle};
          },
          nb::arg("direction"), nb::arg("at_cutoff"), nb::arg("middle"))
      .def(
          "set_flow_rate", [](FlowOptions &self, int d, double velocity) { self.flow_rate = {d, velocity}; },
          nb::arg("direction"), nb::arg("velocity"))
      .def(
          "set_eddy_model",
          [](FlowOptions &self, const std::string &name, double constant, double schmidt, const std::string &form) {
            self.eddy_model = EddyModel{eddy_model_from_name(name), constant, schmidt, eddy_form_from_name(form)};
          },
          nb::arg("name"), nb::arg("constant"), nb::arg("schmidt"), nb::arg("form") = "conservative")
      .def(
          "add_scalar", [](FlowOptions &self, const ScalarOptions &scalar) { self.scalars.push_back(scalar); },
          nb::arg("scalar"))
      .def_rw("acceleration", &FlowOptions::acceleration)
      .def_rw("coriolis", &FlowOptions::coriolis)
      .def_rw("linear", &FlowOptions::linear)
      .def_rw("implicit_y", &FlowOptions::implicit_y)
      .def(
          "set_wall_divergence",
          [](FlowOptions &self, const std::string &name) { self.wall_divergence = wall_divergence_from_name(name); },
          nb::arg("name"));
}
