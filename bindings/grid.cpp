#include <tailrace/grid/grid.hpp>

#include "bindings.hpp"
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/shared_memory.hpp>
#include <tailrace/grid/tuning.hpp>

using namespace tailrace;
using namespace tailrace::grid;

void bind_grid(nb::module_ &m) {
  nb::class_<Grid>(m, "Grid", "A Cartesian grid, uniform or stretched in y; see tailrace.Grid.")
      .def(
          "__init__",
          [](Grid *self, Index3 nodes, std::array<double, 3> lengths, const std::array<std::string, 3> &boundaries,
             const std::string &stretching, double beta) {
            std::optional<Stretching> mapping;
            if (!stretching.empty())
              mapping.emplace(stretching_from_name(stretching), beta);
            new (self)
                Grid(nodes, lengths,
                     {sides_from_name(boundaries[0]), sides_from_name(boundaries[1]), sides_from_name(boundaries[2])},
                     mapping);
          },
          nb::arg("nodes"), nb::arg("lengths"), nb::arg("boundaries"), nb::arg("stretching") = "",
          nb::arg("beta") = 0.0)
      .def_ro("nodes", &Grid::nodes)
      .def_ro("lengths", &Grid::lengths)
      .def_prop_ro("boundaries",
                   [](const Grid &grid) {
                     std::array<std::string, 3> names;
                     for (int d = 0; d < 3; ++d)
                       names[d] = sides_name(grid.boundaries[d]);
                     return names;
                   })
      .def_prop_ro(
          "stretching",
          [](const Grid &grid) { return std::string(grid.stretching ? stretching_name(grid.stretching->where) : ""); },
          "centre, walls, bottom, or empty where y is uniform.")
      .def_prop_ro("beta", [](const Grid &grid) { return grid.stretching ? grid.stretching->beta : 0.0; })
      .def("spacing", &Grid::spacing, nb::arg("direction"),
           "The distance of nodes; where they are stretched, that of the uniform coordinate.")
      .def("coordinates", &Grid::coordinates, nb::arg("direction"), nb::arg("centred") = false)
      .def("metric", &Grid::metric, nb::arg("direction"), nb::arg("centred") = false,
           "dY/dy at the nodes or the centres, with the uniform coordinate Y; empty where the direction is uniform.")
      .def("weights", &Grid::weights, nb::arg("direction"), nb::arg("centred") = false,
           "Weights of the trapezoidal rule, in units of the spacing.")
      .def("distances", &Grid::distances, nb::arg("direction"), "The least distance of each node from its neighbours.");

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
