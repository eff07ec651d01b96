#include "bindings.hpp"
#include <tailrace/io/adios2/foreign_bp.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/variant.h>

#include <tuple>

using namespace nb::literals;
using namespace tailrace;

namespace {

using AnyTarget = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// NumPy's name of the type of an array of numbers.
std::string type_of(const AnyTarget &array) {
  const nb::dlpack::dtype found = array.dtype();
  const char *kinds[] = {"int", "uint", "float"};
  if (found.code > 2 || found.lanes != 1)
    throw InputError("expected an array of real numbers");
  return fmt::format("{}{}", kinds[found.code], found.bits);
}

/// name, type, shape, blocks
auto variables(io::ForeignBp &file, std::size_t step) {
  std::vector<
      std::tuple<std::string, std::string, io::ForeignVariable::Extents, std::vector<io::ForeignVariable::Extents>>>
      result;
  const nb::gil_scoped_release release;
  for (const auto &one : file.variables(step))
    result.emplace_back(one.name, one.type, one.shape, one.blocks);
  return result;
}

void read_part(io::ForeignBp &file, std::size_t step, const std::string &name, std::size_t block,
               const io::ForeignVariable::Extents &start, const AnyTarget &array) {
  io::ForeignBp::Part part{name, block, start, {}, type_of(array)};
  for (std::size_t d = 0; d < array.ndim(); ++d)
    part.count.push_back(static_cast<std::int64_t>(array.shape(d)));
  const nb::gil_scoped_release release;
  file.read(step, part, array.data());
}

} // namespace

void bind_foreign(nb::module_ &m) {
  using io::ForeignBp;
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<ForeignBp>(m, "ForeignBp")
      .def(nb::init<const std::string &>(), "path"_a, free)
      .def("steps", &ForeignBp::steps)
      .def("attributes", &ForeignBp::attributes)
      .def("attributes_in_steps", &ForeignBp::attributes_in_steps, "names"_a, free)
      .def("left_out_attributes", &ForeignBp::left_out_attributes)
      .def("variables", &variables, "step"_a)
      .def("value", &ForeignBp::value, "step"_a, "name"_a, free)
      .def("read", &read_part, "step"_a, "name"_a, "block"_a, "start"_a, "array"_a)
      .def("check_values", &ForeignBp::check_values, "step"_a, "most"_a, free);
}
