#include "bindings.hpp"
#include <tailrace/ops/compact_scheme.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/ops/reductions.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/exact_sum.hpp>

#include <fmt/format.h>

#include <algorithm>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;

namespace {

/// Data of an array, whose shape must be that of this rank's part.
template <class T> const T *part(const Input<T> &in, const Index3 &expected) {
  const Index3 found = count_of<T>(in);
  if (found != expected)
    throw InputError(
        fmt::format("the array has shape ({}, {}, {}); this rank's part of the field is ({}, {}, {}) in z, y, x",
                    found[2], found[1], found[0], expected[2], expected[1], expected[0]));
  return in.data();
}

template <class T> using InputPairs = std::vector<std::pair<Input<T>, Input<T>>>;

template <class T>
std::vector<std::pair<const T *, const T *>> parts(const InputPairs<T> &pairs, const Index3 &expected) {
  std::vector<std::pair<const T *, const T *>> result;
  for (const auto &[a, b] : pairs)
    result.emplace_back(part<T>(a, expected), part<T>(b, expected));
  return result;
}

Index3 points_of(const Weights &weights) {
  Index3 count;
  for (std::size_t d = 0; d < 3; ++d)
    count[d] = static_cast<std::int64_t>(weights[d].size());
  return count;
}

/// Of values or of the products of pairs. Collective.
template <class Values>
double sum_over_ranks(const ProcessGrid &processes, const Weights &weights, const Values &values) {
  nb::gil_scoped_release release;
  ExactSum sum;
  add_weighted(sum, weights, points_of(weights), values);
  sum.combine(processes.comm());
  return sum.value();
}

constexpr std::array<bool, 3> on_nodes{false, false, false};

template <class T>
std::vector<Array<T>> combine(Operators<T> &self,
                              const std::vector<std::tuple<int, int, int, Operation, int, double>> &told,
                              const std::vector<Input<T>> &inputs, int outputs) {
  const Index3 count = self.box(on_nodes).count;
  std::vector<Term> terms;
  for (const auto &[input, output, direction, operation, parity, factor] : told)
    terms.push_back({input, output, direction, operation, parity < 0 ? Parity::odd : Parity::even, factor});
  std::vector<const T *> in;
  for (const auto &array : inputs)
    in.push_back(part<T>(array, count));
  std::vector<Buffer<T>> buffers;
  std::vector<T *> out;
  for (int o = 0; o < outputs; ++o) {
    const bool reach = std::any_of(terms.begin(), terms.end(),
                                   [&](const Term &term) { return term.output == o && term.direction == 2; });
    out.push_back(buffers.emplace_back(self.take(reach)).data());
  }
  {
    nb::gil_scoped_release release;
    self.combine(terms, in, out);
  }
  std::vector<Array<T>> result;
  for (Buffer<T> &buffer : buffers)
    result.push_back(adopt(std::move(buffer), count));
  return result;
}

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
          [](Operators<T> &self, Operation operation, int direction, int parity, Centred centred, const Input<T> &in) {
            const T *values = part<T>(in, self.box(centred).count);
            Centred centred_out = centred;
            centred_out[static_cast<std::size_t>(direction)] = to_centre(operation);
            const Index3 count = self.box(centred_out).count;
            Buffer<T> out(product(count));
            {
              nb::gil_scoped_release release;
              self.apply(operation, direction, parity < 0 ? Parity::odd : Parity::even, centred, values, out.data());
            }
            return adopt(std::move(out), count);
          },
          nb::arg("operation"), nb::arg("direction"), nb::arg("parity"), nb::arg("centred"), nb::arg("values"))
      .def("combine", &combine<T>, nb::arg("terms"), nb::arg("inputs"), nb::arg("outputs"),
           "Sums of derivatives; a term is (input, output, direction, operation, parity of the input, factor).")
      .def(
          "empty", [](Operators<T> &self) { return adopt(self.take(), self.box(on_nodes).count); },
          "An array on the nodes, not initialised, in memory that is used again when it goes.")
      .def(
          "register_shared", [](Operators<T> &self, const Input<T> &array) { self.register_shared(array.data()); },
          nb::arg("array"), "The array is the solver's, and all ranks can reach it in place.")
      .def(
          "sum_of_products",
          [](Operators<T> &self, const InputPairs<T> &pairs) {
            const Index3 count = self.box(on_nodes).count;
            const auto from = parts<T>(pairs, count);
            Buffer<T> out = self.take();
            {
              nb::gil_scoped_release release;
              sum_of_products(from, product(count), out.data());
            }
            return adopt(std::move(out), count);
          },
          nb::arg("pairs"));
  m.def(
      "weighted_sum",
      [](const ProcessGrid &processes, const Weights &weights, const Input<T> &values) {
        return sum_over_ranks(processes, weights, part<T>(values, points_of(weights)));
      },
      nb::arg("processes"), nb::arg("weights"), nb::arg("values"),
      "Sum over the points of all ranks of wx wy wz times the value, which does not depend on the ranks. Collective.");
  m.def(
      "weighted_sum",
      [](const ProcessGrid &processes, const Weights &weights, const InputPairs<T> &pairs) {
        return sum_over_ranks(processes, weights, parts<T>(pairs, points_of(weights)));
      },
      nb::arg("processes"), nb::arg("weights"), nb::arg("pairs"), "The same of the sum of the products of pairs.");
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
