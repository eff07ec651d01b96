#include <tailrace/grid/grid.hpp>

#include "bindings.hpp"
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/shared_memory.hpp>
#include <tailrace/grid/tuning.hpp>

using namespace tailrace;
using namespace tailrace::grid;

void bind_grid(nb::module_ &m) {
  nb::class_<Grid>(m, "Grid", "A uniform Cartesian grid; see tailrace.Grid.")
      .def(
          "__init__",
          [](Grid *self, Index3 nodes, std::array<double, 3> lengths, const std::array<std::string, 3> &boundaries) {
            new (self) Grid(nodes, lengths,
                            {boundary_from_name(boundaries[0]), boundary_from_name(boundaries[1]),
                             boundary_from_name(boundaries[2])});
          },
          nb::arg("nodes"), nb::arg("lengths"), nb::arg("boundaries"))
      .def_ro("nodes", &Grid::nodes)
      .def_ro("lengths", &Grid::lengths)
      .def_prop_ro("boundaries",
                   [](const Grid &grid) {
                     std::array<std::string, 3> names;
                     for (int d = 0; d < 3; ++d)
                       names[d] = boundary_name(grid.boundaries[d]);
                     return names;
                   })
      .def("spacing", &Grid::spacing, nb::arg("direction"))
      .def("coordinates", &Grid::coordinates, nb::arg("direction"));

  nb::class_<ProcessGrid>(m, "ProcessGrid", "Ranks arranged as rows x cols.")
      .def(
          "__init__",
          [](ProcessGrid *self, int comm, int rows, int cols) {
            new (self) ProcessGrid(Communicator::from_fortran(comm), rows, cols);
          },
          nb::arg("comm"), nb::arg("rows"), nb::arg("cols"))
      .def_prop_ro("rows", &ProcessGrid::rows)
      .def_prop_ro("cols", &ProcessGrid::cols);

  m.def(
      "can_share_memory", [](int comm) { return can_share_memory(Communicator::from_fortran(comm)); }, nb::arg("comm"),
      nb::call_guard<nb::gil_scoped_release>(), "Whether the ranks can map each other's memory. Collective.");

  m.def(
      "tune_process_grid",
      [](int comm, Index3 shape, int rows, int cols, const std::string &method) {
        std::optional<TransposeMethod> chosen;
        if (method != "auto")
          chosen = transpose_method_from_name(method);
        std::vector<std::tuple<int, int, std::string, double>> results;
        for (const TuningResult &r : tune_process_grid(Communicator::from_fortran(comm), shape, rows, cols, chosen))
          results.emplace_back(r.rows, r.cols, transpose_method_name(r.method), r.seconds);
        return results;
      },
      nb::arg("comm"), nb::arg("shape"), nb::arg("rows"), nb::arg("cols"), nb::arg("method"),
      nb::call_guard<nb::gil_scoped_release>(),
      "(rows, cols, method, seconds per round of transposes), fastest first. Collective.");
}
