#include "bindings.hpp"
#include <tailrace/analysis/moments.hpp>
#include <tailrace/analysis/resample.hpp>
#include <tailrace/analysis/spectrum.hpp>
#include <tailrace/ops/invariants.hpp>
#include <tailrace/ops/operators.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/complex.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::ops;
using namespace tailrace::analysis;

namespace {

using Centred = std::array<bool, 3>;
using Processes = std::shared_ptr<ProcessGrid>;
using State = nb::ndarray<double, nb::c_contig, nb::device::cpu>; ///< changed in place

void expect_size(std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) != expected)
    throw InputError(fmt::format("an array has {} values, expected {}", found, expected));
}

/// Pointers to the data of arrays that must all have one size.
template <class T, class Arrays> std::vector<T *> pointers(const Arrays &arrays, std::int64_t size) {
  std::vector<T *> result;
  for (const auto &one : arrays) {
    expect_size(one.size(), size);
    result.push_back(one.data());
  }
  return result;
}

void expect_pairs(std::size_t fields, std::size_t means, std::size_t products) {
  if (means != fields || 2 * products != fields * (fields + 1))
    throw InputError(fmt::format("{} fields have as many means and {} products, not {} and {}", fields,
                                 fields * (fields + 1) / 2, means, products));
}

template <class T> void bind_for_type(nb::module_ &m, const char *invariant_name) {
  m.def(
      "filter",
      [](Operators<T> &operators, int direction, int parity, Centred centred, double alpha, const Input<T> &values) {
        const Index3 count = operators.box(centred).count;
        expect_size(values.size(), product(count));
        Buffer<T> out(product(count));
        {
          nb::gil_scoped_release release;
          operators.apply(Operation::filter, direction, parity < 0 ? Parity::odd : Parity::even, centred, values.data(),
                          out.data(), alpha);
        }
        return adopt(std::move(out), count);
      },
      nb::arg("operators"), nb::arg("direction"), nb::arg("parity"), nb::arg("centred"), nb::arg("alpha"),
      nb::arg("values"));
  m.def(
      invariant_name,
      [](Invariant which, const std::vector<Input<T>> &gradient) {
        if (gradient.size() != 9)
          throw InputError(fmt::format("a gradient has nine components, not {}", gradient.size()));
        const Index3 count = count_of<T>(gradient[0]);
        const auto all = pointers<const T>(gradient, product(count));
        std::array<const T *, 9> nine;
        std::copy_n(all.begin(), 9, nine.begin());
        Buffer<T> out(product(count));
        {
          nb::gil_scoped_release release;
          invariant(which, nine, product(count), out.data());
        }
        return adopt(std::move(out), count);
      },
      nb::arg("which"), nb::arg("gradient"));
  m.def(
      "add_sample",
      [](const std::vector<Input<T>> &fields, double share, double factor, const std::vector<State> &means,
         const std::vector<State> &products) {
        expect_pairs(fields.size(), means.size(), products.size());
        const std::int64_t points = fields.empty() ? 0 : product(count_of<T>(fields[0]));
        const auto in = pointers<const T>(fields, points);
        const auto mean = pointers<double>(means, points), pairs = pointers<double>(products, points);
        nb::gil_scoped_release release;
        add_sample(in, points, share, factor, mean, pairs);
      },
      nb::arg("fields"), nb::arg("share"), nb::arg("factor"), nb::arg("means"), nb::arg("products"));
  m.def(
      "add_products",
      [](const std::vector<Input<T>> &fields, const std::array<std::vector<double>, 3> &weights, Centred kept,
         const std::vector<State> &means, const std::vector<State> &products) {
        expect_pairs(fields.size(), means.size(), products.size());
        const Index3 count = fields.empty() ? Index3{} : count_of<T>(fields[0]);
        std::int64_t size = 1;
        for (std::size_t d = 0; d < 3; ++d) {
          expect_size(weights[d].size(), count[d]);
          size *= kept[d] ? count[d] : 1;
        }
        const auto in = pointers<const T>(fields, product(count));
        const auto mean = pointers<const double>(means, size);
        const auto pairs = pointers<double>(products, size);
        nb::gil_scoped_release release;
        add_products(in, count, weights, kept, mean, pairs);
      },
      nb::arg("fields"), nb::arg("weights"), nb::arg("kept"), nb::arg("means"), nb::arg("products"));
}

} // namespace

void bind_analysis(nb::module_ &m) {
  nb::enum_<Invariant>(m, "Invariant")
      .value("q", Invariant::q)
      .value("lambda2", Invariant::lambda2)
      .value("third", Invariant::third);
  bind_for_type<double>(m, "invariant64");
  bind_for_type<float>(m, "invariant32");
  m.def("middle_eigenvalue", &middle_eigenvalue, nb::arg("matrix"),
        "The middle eigenvalue of a symmetric matrix xx, xy, xz, yy, yz, zz.");
  m.def(
      "shell_spectrum",
      [](const Grid &grid, const Processes &processes, const std::vector<Input<double>> &fields) {
        const std::int64_t size = Decomposition(processes, grid.nodes, true).box(Pencil::x).size();
        const auto in = pointers<const double>(fields, size);
        Shells shells;
        {
          nb::gil_scoped_release release;
          shells = shell_spectrum(grid, processes, in);
        }
        return std::tuple(shells.width, shells.energy, shells.modes);
      },
      nb::arg("grid"), nb::arg("processes"), nb::arg("fields"));
  m.def(
      "resample",
      [](const Grid &grid, const Processes &processes, const std::array<int, 3> &parities, const Grid &to,
         const Input<double> &values) {
        expect_size(values.size(), Decomposition(processes, grid.nodes, true).box(Pencil::x).size());
        std::array<Parity, 3> signs;
        for (std::size_t d = 0; d < 3; ++d)
          signs[d] = parities[d] < 0 ? Parity::odd : Parity::even;
        Buffer<double> out;
        {
          nb::gil_scoped_release release;
          out = resample(grid, processes, signs, to, values.data());
        }
        const Box box = Decomposition(processes, to.nodes, true).box(Pencil::x);
        return std::pair(adopt(std::move(out), box.count), box.start);
      },
      nb::arg("grid"), nb::arg("processes"), nb::arg("parities"), nb::arg("to"), nb::arg("values"));
  m.def(
      "mean_cross_spectrum",
      [](const Grid &grid, Centred centred, const Processes &processes, int direction, std::int64_t points,
         const Input<double> &f, const Input<double> &g) {
        Index3 shape;
        for (std::size_t d = 0; d < 3; ++d)
          shape[d] = centred[d] ? grid.cells()[d] : grid.nodes[d];
        const Box box = Decomposition(processes, shape, true).box(Pencil::x);
        expect_size(f.size(), box.size());
        expect_size(g.size(), box.size());
        nb::gil_scoped_release release;
        return mean_cross_spectrum(grid, centred, processes, direction, points, f.data(), g.data());
      },
      nb::arg("grid"), nb::arg("centred"), nb::arg("processes"), nb::arg("direction"), nb::arg("points"), nb::arg("f"),
      nb::arg("g"));
}
