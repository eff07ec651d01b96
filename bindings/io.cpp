#include "bindings.hpp"
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/components.hpp>
#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/opening/open_engine.hpp>
#include <tailrace/io/recognition.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/sidecar/foreign_files.hpp>
#include <tailrace/io/trace_report.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace nb::literals;
using namespace tailrace;
using namespace tailrace::grid;

namespace {

using AnyTarget = nb::ndarray<nb::c_contig, nb::device::cpu>;
using AnySource = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using BoxPair = std::pair<Index3, Index3>; // start, count
using GridTuple = std::tuple<Index3, std::array<double, 3>, std::array<double, 3>,
                             std::array<std::vector<double>, 3>>; // points, origin, spacing, coordinates
using RegionTuple = std::tuple<Index3, Index3, Index3>;           // start, count, stride

Box box_of(const BoxPair &pair) { return {pair.first, pair.second}; }

template <class AnyArray> io::Type type_of(const std::string &name, const AnyArray &array) {
  const std::map<int, io::NumberKind> kinds{{0, io::NumberKind::integer},
                                            {1, io::NumberKind::natural},
                                            {2, io::NumberKind::real},
                                            {5, io::NumberKind::complex},
                                            {6, io::NumberKind::boolean}}; // DLPack's codes
  const nb::dlpack::dtype found = array.dtype();
  if (const auto kind = kinds.find(found.code); kind != kinds.end())
    for (const io::TypeTraits &one : io::all_types())
      if (one.kind == kind->second && 8 * one.bytes == found.bits)
        return one.type;
  throw InputError(
      fmt::format("{}: its {} bits a value are no number type that is stored. To fix this, convert it, for "
                  "instance with astype",
                  name, found.bits));
}

/// Checks that an array can hold `box`, with shape (nz, ny, nx) or (components, nz, ny, nx); returns its number type.
template <class AnyArray> io::Type check_array(const std::string &name, const AnyArray &array, const Box &box) {
  const auto &n = box.count;
  bool fits = array.ndim() == 3 || array.ndim() == 4;
  for (std::size_t d = 0; fits && d < 3; ++d)
    fits = static_cast<std::int64_t>(array.shape(array.ndim() - 1 - d)) == n[d];
  if (!fits)
    throw InputError(
        fmt::format("{}: the array does not have the shape ({}, {}, {}) of its box (z, y, x)", name, n[2], n[1], n[0]));
  return type_of(name, array);
}

io::Series *open_series(const std::string &path, const std::string &mode, int comm, const std::string &engine,
                        const std::map<std::string, std::string> &parameters, const std::optional<GridTuple> &grid,
                        const std::optional<std::string> &precision, const std::optional<std::int64_t> &rewind_to) {
  io::Options options{engine, parameters, {}, {}, rewind_to};
  if (grid)
    options.grid = io::GridDescription{std::get<0>(*grid), std::get<1>(*grid), std::get<2>(*grid), std::get<3>(*grid)};
  if (precision)
    options.precision = io::type_named(*precision);
  const std::map<std::string, io::Mode> modes{
      {"w", io::Mode::write}, {"x", io::Mode::exclusive}, {"a", io::Mode::append}, {"r", io::Mode::read}};
  const io::Mode how = modes.at(mode);
  const nb::gil_scoped_release release;
  return new io::Series(path, how, Communicator::from_fortran(comm), options);
}

/// Number of components of a four-dimensional array.
template <class AnyArray> std::optional<std::int64_t> components_of(const AnyArray &array) {
  return array.ndim() == 4 ? std::optional(static_cast<std::int64_t>(array.shape(0))) : std::nullopt;
}

io::WriteRequest block_request(const std::string &name, const AnySource &array, const Index3 &shape,
                               const BoxPair &block, const BoxPair &memory) {
  io::WriteRequest request{name, {}, array.data(), {shape, box_of(block), box_of(memory)}, components_of(array)};
  request.type = check_array(name, array, request.place.memory);
  return request;
}

void write_block(io::Series &series, const std::string &name, const AnySource &array, const Index3 &shape,
                 const BoxPair &block, const BoxPair &memory, const std::optional<RegionTuple> &region, bool deferred) {
  const nb::gil_scoped_release release;
  series.write([&] {
    io::WriteRequest request = block_request(name, array, shape, block, memory);
    if (region)
      request.region = io::Region{std::get<0>(*region), std::get<1>(*region), std::get<2>(*region)};
    if (deferred)
      request.put = io::Put::deferred;
    return request;
  });
}

/// `array` has the shape (rows, columns).
io::WriteRequest list_request(const std::string &name, const AnySource &array) {
  if (array.ndim() != 2)
    throw InputError(fmt::format("{}: a list is an array of rows, or of rows and columns", name));
  const Box block{{0, 0, 0}, {static_cast<std::int64_t>(array.shape(1)), static_cast<std::int64_t>(array.shape(0)), 1}};
  io::WriteRequest request{name, type_of(name, array), array.data(), {block.count, block, block}};
  request.list = true;
  return request;
}

void write_list(io::Series &series, const std::string &name, const AnySource &array) {
  const nb::gil_scoped_release release;
  series.write([&] { return list_request(name, array); });
}

using NamedBlock = std::tuple<std::string, AnySource, Index3, BoxPair, BoxPair>; // name, array, shape, block, memory
using NamedList = std::tuple<std::string, AnySource>;

void write_step(io::Series &series, std::int64_t index, double time, const std::vector<NamedBlock> &blocks,
                const std::vector<NamedList> &lists, const io::Scalars &scalars) {
  const nb::gil_scoped_release release;
  series.write_step([&] {
    io::StepRequest step{index, time, {}, scalars};
    for (const auto &[name, array, shape, block, memory] : blocks)
      step.arrays.push_back(block_request(name, array, shape, block, memory));
    for (const auto &[name, rows] : lists)
      step.arrays.push_back(list_request(name, rows));
    return step;
  });
}

void read_box(const io::Series &series, std::size_t step, const std::string &name, const BoxPair &box,
              const AnyTarget &array) {
  const nb::gil_scoped_release release;
  series.read(step, [&] {
    const io::Type type = check_array(name, array, box_of(box));
    return io::ReadRequest{name, type, box_of(box), array.data(), components_of(array)};
  });
}

/// Fails on all ranks, because this rank has no valid arguments.
void refuse(const io::Series &series, const std::string &why, bool input) {
  series.agree([&] {
    if (input)
      throw InputError(why);
    throw IoError(why);
  });
}

std::vector<std::pair<std::int64_t, double>> steps(const io::Series &series) {
  std::vector<std::pair<std::int64_t, double>> result;
  const nb::gil_scoped_release release;
  series.alone([&] {
    for (const auto &step : series.steps())
      result.emplace_back(step.index, step.time);
  });
  return result;
}

std::vector<std::tuple<std::string, std::string, Index3, bool>> variables(const io::Series &series, std::size_t step) {
  std::vector<std::tuple<std::string, std::string, Index3, bool>> result;
  const nb::gil_scoped_release release;
  for (const auto &variable : series.variables(step))
    result.emplace_back(variable.name, io::name_of(variable.type), variable.shape, variable.list);
  return result;
}

std::optional<GridTuple> grid_of(const io::Series &series) {
  const nb::gil_scoped_release release;
  const auto found = series.grid();
  return found ? std::optional<GridTuple>({found->points, found->origin, found->spacing, found->coordinates})
               : std::nullopt;
}

auto side(const io::CouplingSide &one) {
  return std::tuple(one.ranks, one.steps, one.elapsed, one.compute, one.wait, one.transfer, one.state, one.host,
                    one.process);
}

/// In the order of the dataclasses Coupling and CouplingSide.
auto coupling(const io::Series &series) {
  const io::Coupling found = series.coupling();
  const std::map<io::Coupling::Role, std::string> roles{{io::Coupling::Role::none, "none"},
                                                        {io::Coupling::Role::writer, "writer"},
                                                        {io::Coupling::Role::reader, "reader"}};
  std::vector<decltype(side(found.own))> others;
  for (const auto &one : found.others)
    others.push_back(side(one));
  return std::tuple(roles.at(found.role), side(found.own), others, found.dropped, found.skipped, found.unread);
}

/// index, time, why
std::vector<std::tuple<std::int64_t, double, std::string>> dropped(const io::Series &series) {
  std::vector<std::tuple<std::int64_t, double, std::string>> result;
  const nb::gil_scoped_release release;
  for (const auto &one : series.dropped())
    result.emplace_back(one.index, one.time, one.why);
  return result;
}

nb::dict counters(const io::Series &series) {
  const io::Counters counted = series.counters();
  nb::dict result;
  result["bytes_written"] = counted.bytes_written;
  result["bytes_read"] = counted.bytes_read;
  result["steps"] = counted.steps;
  for (std::size_t number = 0; number < io::phase_count; ++number) {
    const auto phase = static_cast<io::Phase>(number);
    result[nb::str((std::string(io::name_of(phase)) + "_seconds").c_str())] = series.trace().total(phase).seconds;
  }
  return result;
}

/// name, calls, bytes, min, mean and max seconds of each phase.
std::vector<std::tuple<std::string, std::int64_t, std::int64_t, double, double, double>>
summary(const io::Series &series) {
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t, double, double, double>> result;
  for (const auto &one : io::summarise(series.trace(), series.communicator()))
    result.emplace_back(io::name_of(one.phase), one.calls, one.bytes, one.min_seconds, one.mean_seconds,
                        one.max_seconds);
  return result;
}

void bind_engines(nb::module_ &m) {
  using io::EngineTraits;
  using io::WriteModel;
  nb::class_<WriteModel>(m, "WriteModel")
      .def_ro("pattern", &WriteModel::pattern)
      .def_ro("file_per_variable", &WriteModel::file_per_variable)
      .def_ro("collective_parameter", &WriteModel::collective_parameter)
      .def_ro("collective_default", &WriteModel::collective_default)
      .def_ro("copies", &WriteModel::copies)
      .def_ro("statistics", &WriteModel::statistics)
      .def_ro("preference", &WriteModel::preference);
  nb::class_<EngineTraits>(m, "EngineTraits")
      .def_ro("name", &EngineTraits::name)
      .def_ro("family", &EngineTraits::family)
      .def_ro("extensions", &EngineTraits::extensions)
      .def_ro("aliases", &EngineTraits::aliases)
      .def_ro("stores", &EngineTraits::stores)
      .def_ro("streams", &EngineTraits::streams)
      .def_ro("one_file", &EngineTraits::one_file)
      .def_ro("owns_directory", &EngineTraits::owns_directory)
      .def_ro("file_names", &EngineTraits::file_names)
      .def_ro("sidecar", &EngineTraits::sidecar)
      .def_ro("library", &EngineTraits::library)
      .def_ro("waits", &EngineTraits::waits)
      .def_ro("journal", &EngineTraits::journal)
      .def_ro("companion", &EngineTraits::companion)
      .def_ro("remains", &EngineTraits::remains)
      .def_ro("step_files", &EngineTraits::step_files)
      .def_ro("compression", &EngineTraits::compression)
      .def_ro("longest_name", &EngineTraits::longest_name)
      .def_ro("longest_text", &EngineTraits::longest_text)
      .def_ro("text_lists", &EngineTraits::text_lists)
      .def_prop_ro("types",
                   [](const EngineTraits &traits) {
                     std::vector<std::string> all;
                     for (const io::TypeTraits &one : io::all_types())
                       all.emplace_back(one.name);
                     return traits.types.empty() ? all : traits.types;
                   })
      .def_ro("model", &EngineTraits::model);
  m.def("engine_names", &io::engine_names);
  m.def("engine_traits", &io::engine_traits, "name"_a, nb::rv_policy::reference);
}

} // namespace

void bind_io(nb::module_ &m) {
  using io::Series;
  const auto free = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<Series>(m, "Series")
      .def_static("open", &open_series, "path"_a, "mode"_a, "comm"_a, "engine"_a, "parameters"_a, "grid"_a.none(),
                  "precision"_a.none(), "rewind_to"_a.none(), nb::rv_policy::take_ownership)
      .def_prop_ro("path", &Series::path)
      .def_prop_ro("engine", &Series::engine)
      .def_prop_ro("streaming", &Series::streaming)
      .def(
          "declare",
          [](Series &series, const std::string &name, const Index3 &shape, const std::string &type) {
            io::Type stored = io::Type::float64;
            series.agree([&] { stored = io::type_named(type); });
            series.declare(name, shape, stored);
          },
          "name"_a, "shape"_a, "type"_a, free)
      .def("refuse", &refuse, "why"_a, "input"_a, free)
      .def("begin_step", &Series::begin_step, "index"_a, "time"_a, free)
      .def("last_index", &Series::last_index, free)
      .def("dropped", &dropped)
      .def("coupling", &coupling, free)
      .def("missed", &Series::missed, "step"_a, free)
      .def("write", &write_block, "name"_a, "array"_a, "shape"_a, "block"_a, "memory"_a, "region"_a.none(),
           "deferred"_a)
      .def("write_list", &write_list, "name"_a, "array"_a)
      .def("write_scalar", &Series::write_scalar, "name"_a, "value"_a, free)
      .def("set_attribute", &Series::set_attribute, "name"_a, "value"_a, free)
      .def("end_step", &Series::end_step, free)
      .def("abandon_step", &Series::abandon_step, free)
      .def("write_step", &write_step, "index"_a, "time"_a, "arrays"_a, "lists"_a, "scalars"_a)
      .def("flush", &Series::flush, free)
      .def("close", &Series::close, free)
      .def("steps", &steps)
      .def("files", &Series::files, free)
      .def("next_step", &Series::next_step, "timeout"_a, free)
      .def("grid", &grid_of)
      .def("attributes", &Series::attributes, free)
      .def("variables", &variables, "step"_a)
      .def("components", &io::count_components, "step"_a, "name"_a, free)
      .def("scalars", &Series::scalars, "step"_a, free)
      .def("read", &read_box, "step"_a, "name"_a, "box"_a, "array"_a)
      .def("verify", &Series::verify, "step"_a, free)
      .def("unchecked", &Series::unchecked, "step"_a, free)
      .def("has_table", &Series::has_table, "step"_a, free)
      .def("damage", &Series::damage, free)
      .def("notes", &Series::notes)
      .def("counters", &counters)
      .def("summary", &summary, free);
  bind_engines(m);
  m.def("engine_at", &io::engine_at, "path"_a);
  m.def("finish_replacing", &io::finish_replacing, "path"_a);
  m.def("metadata_vouched", &io::metadata_vouched, "path"_a, "engine"_a);
  m.def("is_series", &io::is_series, "path"_a);
  m.def("is_foreign_file", &io::is_foreign_file, "path"_a);
  m.def("foreign_files", &io::foreign_files, "directory"_a);
  m.def("check_only_bp", &io::check_only_bp, "directory"_a);
}
