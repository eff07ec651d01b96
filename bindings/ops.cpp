#include "bindings.hpp"
#include <tailrace/ops/compact_scheme.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

using namespace tailrace;

namespace {

template <class T> void bind_operators(nb::module_ &m, const char *name) {
  using Centred = std::array<bool, 3>;
  nb::class_<Operators<T>>(m, name, "Compact operators on distributed fields; see tailrace.Operators.")
      .def(
          "__init__",
          [](Operators<T> *self, const Grid &grid, std::shared_ptr<ProcessGrid> processes, const std::string &method,
             const std::string &interpolation) {
            new (self) Operators<T>(grid, processes, transpose_method_from_name(method),
                                    interpolation_from_name(interpolation));
          },
          nb::arg("grid"), nb::arg("processes"), nb::arg("method"), nb::arg("interpolation"))
      .def(
          "box",
          [](const Operators<T> &self, Centred centred) {
            const Box box = self.box(centred);
            return std::pair(box.start, box.count);
          },
          nb::arg("centred"))
      .def("shape", &Operators<T>::shape, nb::arg("centred"))
      .def(
          "apply",
          [](Operators<T> &self, Operation operation, int direction, int parity, Centred centred,
             const nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu> &in) {
            const Index3 expected = self.box(centred).count;
            const Index3 found = {static_cast<std::int64_t>(in.shape(2)), static_cast<std::int64_t>(in.shape(1)),
                                  static_cast<std::int64_t>(in.shape(0))};
            if (found != expected)
              throw InputError(fmt::format(
                  "the array has shape ({}, {}, {}); this rank's part of the field is ({}, {}, {}) in z, y, x",
                  found[2], found[1], found[0], expected[2], expected[1], expected[0]));
            Centred centred_out = centred;
            centred_out[static_cast<std::size_t>(direction)] = to_centre(operation);
            const Index3 count = self.box(centred_out).count;
            Buffer<T> out(product(count));
            {
              nb::gil_scoped_release release;
              self.apply(operation, direction, parity < 0 ? Parity::odd : Parity::even, centred, in.data(), out.data());
            }
            return adopt(std::move(out), count);
          },
          nb::arg("operation"), nb::arg("direction"), nb::arg("parity"), nb::arg("centred"), nb::arg("values"));
}

} // namespace

void bind_ops(nb::module_ &m) {
  nb::enum_<Operation>(m, "Operation")
      .value("first_derivative", Operation::first_derivative)
      .value("second_derivative", Operation::second_derivative)
      .value("derivative_to_centre", Operation::derivative_to_centre)
      .value("interpolate_to_centre", Operation::interpolate_to_centre)
      .value("derivative_to_node", Operation::derivative_to_node)
      .value("interpolate_to_node", Operation::interpolate_to_node);
  bind_operators<double>(m, "Operators64");
  bind_operators<float>(m, "Operators32");
  m.def(
      "scheme_response",
      [](Operation operation, double spacing, const std::string &interpolation, double w) {
        return compact_scheme(operation, spacing, interpolation_from_name(interpolation)).response(w);
      },
      nb::arg("operation"), nb::arg("spacing"), nb::arg("interpolation"), nb::arg("w"),
      "Modified wave number, its negative square, or transfer function at w radians per point.");
}
