#include <tailrace/c_api/tailrace.h>

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/components.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

using namespace tailrace;

struct tailrace_decomposition {
  Decomposition decomposition;
};

struct tailrace_series {
  io::Options options; ///< of the next open
  std::optional<io::Series> open;
  mutable std::string text; ///< what a function handed out last
};

namespace {

thread_local char error_text[4096] = ""; // not a string: keeping an error must not itself run out of memory

int failed(int status, const char *text) {
  std::snprintf(error_text, sizeof error_text, "%s", text);
  return status;
}

/// No exception may leave through C: turns it into a status, and keeps its text.
template <class Work> int guarded(Work work) noexcept {
  try {
    work();
    return TAILRACE_OK;
  } catch (const InputError &error) {
    return failed(TAILRACE_INPUT_ERROR, error.what());
  } catch (const IoError &error) {
    return failed(TAILRACE_IO_ERROR, error.what());
  } catch (const std::exception &error) {
    return failed(TAILRACE_OTHER_ERROR, error.what());
  } catch (...) {
    return failed(TAILRACE_OTHER_ERROR, "unknown error");
  }
}

template <class T> T &not_null(T *pointer, const char *what) {
  if (pointer == nullptr)
    throw InputError(fmt::format("{} is a null pointer", what));
  return *pointer;
}

/// C's way to say nothing. Series itself refuses an empty name, on all ranks together.
std::string text(const char *given) { return given ? given : ""; }

tailrace_series &closed(tailrace_series *series) {
  if (not_null(series, "series").open)
    throw InputError(fmt::format("{} is open; close it first", series->open->path()));
  return *series;
}

template <class Handle> auto &opened(Handle *series) {
  if (!not_null(series, "series").open)
    throw InputError("the series is not open; call tailrace_open first");
  return *series->open;
}

/// Up to three numbers of the caller as three; those of absent directions are `absent`.
Index3 three(int dimensions, const int64_t *given, std::int64_t absent, const char *what) {
  if (dimensions < 1 || dimensions > 3)
    throw InputError(fmt::format("expected 1 to 4 dimensions (1 to 3 to declare one), found {}", dimensions));
  not_null(given, what);
  Index3 result{absent, absent, absent};
  for (int d = 0; d < dimensions; ++d)
    result[d] = given[d];
  return result;
}

std::size_t position(int64_t step) {
  if (step < 0)
    throw InputError(fmt::format("there is no step number {}: steps count from 0", step));
  return static_cast<std::size_t>(step);
}

io::Type type_of(const char *name, int type) {
  switch (type) {
  case TAILRACE_FLOAT32:
    return io::Type::float32;
  case TAILRACE_FLOAT64:
    return io::Type::float64;
  case TAILRACE_INT32:
    return io::Type::int32;
  case TAILRACE_INT64:
    return io::Type::int64;
  default:
    throw InputError(fmt::format("{}: unknown type {}: expected TAILRACE_FLOAT32 (4), TAILRACE_FLOAT64 (8), "
                                 "TAILRACE_INT32 (-4) or TAILRACE_INT64 (-8)",
                                 text(name), type));
  }
}

int number_of(io::Type type) {
  const int bytes = static_cast<int>(io::size_of(type));
  return io::is_integer(type) ? -bytes : bytes;
}

Box memory_of(const Box &block, int dimensions, const int64_t *ghosts) {
  if (ghosts == nullptr)
    return block;
  const Index3 width = three(dimensions, ghosts, 0, "ghosts");
  Box memory = block;
  for (int d = 0; d < 3; ++d) {
    if (width[d] < 0)
      throw InputError(fmt::format("{} ghosts: expected 0 or more", width[d]));
    memory.start[d] -= width[d];
    memory.count[d] += 2 * width[d];
  }
  return memory;
}

/// A caller's array of one to four dimensions: a placement, and how many components there are of it.
struct Array {
  io::Type type = io::Type::float64;
  io::Placement place;
  std::int64_t components = 0; ///< 0: fewer than four dimensions
};

Array array_of(const char *name, int type, int dimensions, const int64_t *shape, const int64_t *start,
               const int64_t *count, const int64_t *ghosts) {
  const int directions = dimensions == 4 ? 3 : dimensions;
  Array array{type_of(name, type), {}, 0};
  array.place.shape = three(directions, shape, 1, "shape");
  array.place.block = {three(directions, start, 0, "start"), three(directions, count, 1, "count")};
  array.place.memory = memory_of(array.place.block, directions, ghosts);
  if (dimensions != 4)
    return array;
  array.components = shape[3];
  if (start[3] != 0 || count[3] != shape[3] || (ghosts != nullptr && ghosts[3] != 0))
    throw InputError(
        fmt::format("{}: a rank writes all {} components and no ghosts of them; found {} from number {} on", text(name),
                    shape[3], count[3], start[3]));
  return array;
}

int write(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
          const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data, io::Put put) {
  return guarded([&] {
    io::Series &out = opened(series);
    Array array;
    out.communicator().agree([&] { array = array_of(name, type, dimensions, shape, start, count, ghosts); });
    if (out.communicator().max(static_cast<std::int64_t>(dimensions)) == 4)
      io::write_components(out, text(name), array.type, data, array.place, array.components, put);
    else
      out.write(text(name), array.type, data, array.place, put);
  });
}

int read(const tailrace_series *series, int64_t step, const char *name, int type, int dimensions, const int64_t *start,
         const int64_t *count, void *data) {
  return guarded([&] {
    const io::Series &in = opened(series);
    const int directions = dimensions == 4 ? 3 : dimensions;
    io::Type wanted = io::Type::float64;
    Box box;
    in.communicator().agree([&] {
      position(step);
      wanted = type_of(name, type);
      box = {three(directions, start, 0, "start"), three(directions, count, 1, "count")};
    });
    const auto most = in.communicator().max(static_cast<std::int64_t>(dimensions));
    in.communicator().agree([&] {
      if (most == 4 && dimensions != 4)
        throw InputError(fmt::format("{}: {} dimensions on this rank and 4 on another", text(name), dimensions));
    });
    if (most == 4)
      io::read_components(in, position(step), text(name), wanted, box, start[3], count[3], data);
    else
      in.read(position(step), text(name), wanted, box, data);
  });
}

/// Hands a text out: it stays with the series.
void hand_out(const tailrace_series *series, std::string what, const char **result) {
  not_null(result, "text");
  series->text = std::move(what);
  *result = series->text.c_str();
}

io::Scalar scalar(const tailrace_series *series, int64_t step, const char *name) {
  const io::Series &in = opened(series);
  const io::Scalars scalars = in.scalars(position(step));
  const auto found = scalars.find(text(name));
  if (found == scalars.end())
    throw InputError(fmt::format("{}: step number {} has no scalar '{}'", in.path(), step, text(name)));
  return found->second;
}

/// The value of a scalar as T; integers also as double.
template <class T> T scalar_as(const tailrace_series *series, int64_t step, const char *name, const char *kind) {
  const io::Scalar found = scalar(series, step, name);
  if (const auto *value = std::get_if<T>(&found))
    return *value;
  if constexpr (std::is_same_v<T, double>)
    if (const auto *value = std::get_if<std::int64_t>(&found))
      return static_cast<double>(*value);
  throw InputError(fmt::format("{}: scalar '{}' is no {}", opened(series).path(), text(name), kind));
}

io::Attribute attribute(const tailrace_series *series, const char *name) {
  const io::Series &in = opened(series);
  const io::Attributes attributes = in.attributes();
  const auto found = attributes.find(text(name));
  if (found == attributes.end())
    throw InputError(fmt::format("{} has no attribute '{}'", in.path(), text(name)));
  return found->second;
}

template <class T> int set_attribute(tailrace_series *series, const char *name, int64_t count, const T *values) {
  return guarded([&] {
    io::Series &out = opened(series);
    io::Attribute value;
    out.communicator().agree([&] {
      if (count < 1)
        throw InputError(
            fmt::format("{}: attribute '{}' has {} numbers: expected at least 1", out.path(), text(name), count));
      const T *first = &not_null(values, "values");
      if (count == 1)
        value = *first;
      else
        value = std::vector<T>(first, first + count);
    });
    out.attribute(text(name), value);
  });
}

template <class T> int get_attribute(const tailrace_series *series, const char *name, int64_t count, T *values) {
  return guarded([&] {
    const io::Attribute found = attribute(series, name);
    std::vector<T> numbers;
    const auto take = [&](const auto &value) {
      using Found = std::decay_t<decltype(value)>;
      if constexpr (std::is_convertible_v<Found, T> && (std::is_same_v<T, double> || std::is_integral_v<Found>))
        numbers = {static_cast<T>(value)};
      else if constexpr (std::is_same_v<Found, std::vector<T>>)
        numbers = value;
      else if constexpr (std::is_same_v<T, double> && std::is_same_v<Found, std::vector<std::int64_t>>)
        for (const auto number : value)
          numbers.push_back(static_cast<double>(number));
      else
        throw InputError(fmt::format("{}: attribute '{}' is no {}", opened(series).path(), text(name),
                                     std::is_same_v<T, double> ? "number" : "integer"));
    };
    std::visit(take, found);
    if (count != static_cast<int64_t>(numbers.size()))
      throw InputError(fmt::format("{}: attribute '{}' has {} numbers; {} were asked for", opened(series).path(),
                                   text(name), numbers.size(), count));
    std::copy(numbers.begin(), numbers.end(), &not_null(values, "values"));
  });
}

void open(tailrace_series *series, const Communicator &comm, const char *path, const char *mode, const char *engine) {
  tailrace_series &handle = closed(series);
  const std::string wanted = text(mode);
  io::Mode how = io::Mode::read;
  comm.agree([&] {
    if (text(path).empty())
      throw InputError("the path of the series is empty");
    if (wanted != "w" && wanted != "a" && wanted != "r")
      throw InputError(fmt::format("{}: unknown mode '{}': expected w, a or r", path, wanted));
  });
  if (wanted != "r")
    how = wanted == "w" ? io::Mode::write : io::Mode::append;
  handle.options.engine = text(engine);
  const io::Options options = std::move(handle.options);
  handle.options = {};
  handle.open.emplace(path, how, comm, options);
}

void decompose(tailrace_decomposition **result, const Communicator &comm, const int64_t *shape, int rows, int cols) {
  Index3 n{};
  comm.agree([&] {
    not_null(result, "decomposition") = nullptr;
    n = three(3, shape, 1, "shape");
  });
  const auto processes = std::make_shared<const ProcessGrid>(comm, rows, cols);
  std::unique_ptr<tailrace_decomposition> made;
  comm.agree([&] { made.reset(new tailrace_decomposition{Decomposition(processes, n)}); });
  *result = made.release();
}

} // namespace

const char *tailrace_error_text(void) { return error_text; }

// ---- decomposition ----

int tailrace_decomposition_new(tailrace_decomposition **decomposition, MPI_Comm comm, const int64_t *shape, int rows,
                               int cols) {
  return guarded([&] { decompose(decomposition, Communicator(comm), shape, rows, cols); });
}

int tailrace_decomposition_new_f(tailrace_decomposition **decomposition, MPI_Fint comm, const int64_t *shape, int rows,
                                 int cols) {
  return guarded([&] { decompose(decomposition, Communicator::from_fortran(comm), shape, rows, cols); });
}

int tailrace_decomposition_box(const tailrace_decomposition *decomposition, int direction, int64_t *start,
                               int64_t *count) {
  return guarded([&] {
    if (direction < 0 || direction > 2)
      throw InputError(fmt::format("expected the direction 0, 1 or 2 (x, y, z), found {}", direction));
    const Box box = not_null(decomposition, "decomposition").decomposition.box(static_cast<Pencil>(direction));
    not_null(start, "start");
    not_null(count, "count");
    for (int d = 0; d < 3; ++d) {
      start[d] = box.start[d];
      count[d] = box.count[d];
    }
  });
}

void tailrace_decomposition_free(tailrace_decomposition **decomposition) {
  if (decomposition == nullptr)
    return;
  delete *decomposition;
  *decomposition = nullptr;
}

// ---- series ----

int tailrace_new(tailrace_series **series) {
  return guarded([&] { not_null(series, "series") = new tailrace_series; });
}

int tailrace_set_parameter(tailrace_series *series, const char *name, const char *value) {
  return guarded([&] { closed(series).options.parameters[text(name)] = text(value); });
}

int tailrace_set_grid(tailrace_series *series, const int64_t *points, const double *origin, const double *spacing) {
  return guarded([&] {
    io::GridDescription grid{three(3, points, 1, "points"), {}, {}};
    not_null(origin, "origin");
    not_null(spacing, "spacing");
    for (int d = 0; d < 3; ++d) {
      grid.origin[d] = origin[d];
      grid.spacing[d] = spacing[d];
    }
    closed(series).options.grid = grid;
  });
}

int tailrace_set_rewind(tailrace_series *series, int64_t index) {
  return guarded([&] { closed(series).options.rewind_to = index; });
}

int tailrace_open(tailrace_series *series, MPI_Comm comm, const char *path, const char *mode, const char *engine) {
  return guarded([&] { open(series, Communicator(comm), path, mode, engine); });
}

int tailrace_open_f(tailrace_series *series, MPI_Fint comm, const char *path, const char *mode, const char *engine) {
  return guarded([&] { open(series, Communicator::from_fortran(comm), path, mode, engine); });
}

int tailrace_close(tailrace_series *series) {
  return guarded([&] {
    io::Series closing = std::move(opened(series));
    series->open.reset();
    closing.close();
  });
}

int tailrace_notes(const tailrace_series *series, const char **text) {
  return guarded([&] { hand_out(series, fmt::format("{}", fmt::join(opened(series).notes(), "\n")), text); });
}

int tailrace_counters(const tailrace_series *series, int64_t *bytes_written, int64_t *bytes_read, int64_t *steps) {
  return guarded([&] {
    const io::Counters counted = opened(series).counters();
    if (bytes_written != nullptr)
      *bytes_written = counted.bytes_written;
    if (bytes_read != nullptr)
      *bytes_read = counted.bytes_read;
    if (steps != nullptr)
      *steps = counted.steps;
  });
}

int tailrace_seconds(const tailrace_series *series, const char *phase, double *seconds) {
  return guarded([&] {
    for (std::size_t number = 0; number < io::phase_count; ++number)
      if (const auto known = static_cast<io::Phase>(number); io::name_of(known) == text(phase)) {
        not_null(seconds, "seconds") = opened(series).trace().total(known).seconds;
        return;
      }
    throw InputError(fmt::format("unknown phase '{}': expected convert, checksum, copy, aggregate, write, metadata, "
                                 "sync, wait or read",
                                 text(phase)));
  });
}

void tailrace_free(tailrace_series **series) {
  if (series == nullptr)
    return;
  delete *series;
  *series = nullptr;
}

// ---- writing ----

int tailrace_declare(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, int type) {
  return guarded([&] {
    io::Series &out = opened(series);
    Index3 n{};
    io::Type stored = io::Type::float64;
    out.communicator().agree([&] {
      n = three(dimensions, shape, 1, "shape");
      stored = type_of(name, type);
    });
    out.declare(text(name), n, stored);
  });
}

int tailrace_begin_step(tailrace_series *series, int64_t index, double time) {
  return guarded([&] { opened(series).begin_step(index, time); });
}

int tailrace_write(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                   const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data) {
  return write(series, name, type, dimensions, shape, start, count, ghosts, data, io::Put::sync);
}

int tailrace_write_deferred(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                            const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data) {
  return write(series, name, type, dimensions, shape, start, count, ghosts, data, io::Put::deferred);
}

int tailrace_write_region(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data,
                          const int64_t *first, const int64_t *points, const int64_t *stride) {
  return guarded([&] {
    io::Series &out = opened(series);
    Array array;
    io::Region region;
    out.communicator().agree([&] {
      array = array_of(name, type, dimensions, shape, start, count, ghosts);
      const int directions = std::min(dimensions, 3);
      region.start = three(directions, first, 0, "first");
      region.count = three(directions, points, 1, "points");
      if (stride != nullptr)
        region.stride = three(directions, stride, 1, "stride");
    });
    if (out.communicator().max(static_cast<std::int64_t>(dimensions)) == 4)
      io::write_components(out, text(name), array.type, data, array.place, array.components, io::Put::sync, region);
    else
      out.write_region(text(name), array.type, data, array.place, region);
  });
}

int tailrace_write_list(tailrace_series *series, const char *name, int type, int64_t rows, int64_t columns,
                        const void *data) {
  return guarded([&] {
    io::Series &out = opened(series);
    io::Type given = io::Type::float64;
    out.communicator().agree([&] { given = type_of(name, type); });
    out.write_list(text(name), given, data, rows, columns);
  });
}

int tailrace_write_scalar(tailrace_series *series, const char *name, double value) {
  return guarded([&] { opened(series).write_scalar(text(name), value); });
}

int tailrace_write_scalar_int64(tailrace_series *series, const char *name, int64_t value) {
  return guarded([&] { opened(series).write_scalar(text(name), std::int64_t{value}); });
}

int tailrace_write_scalar_text(tailrace_series *series, const char *name, const char *value) {
  return guarded([&] { opened(series).write_scalar(text(name), text(value)); });
}

int tailrace_set_attribute(tailrace_series *series, const char *name, int64_t count, const double *values) {
  return set_attribute(series, name, count, values);
}

int tailrace_set_attribute_int64(tailrace_series *series, const char *name, int64_t count, const int64_t *values) {
  return set_attribute(series, name, count, values);
}

int tailrace_set_attribute_text(tailrace_series *series, const char *name, const char *value) {
  return guarded([&] { opened(series).attribute(text(name), text(value)); });
}

int tailrace_end_step(tailrace_series *series) {
  return guarded([&] { opened(series).end_step(); });
}

// ---- reading ----

int tailrace_steps(const tailrace_series *series, int64_t *steps) {
  return guarded([&] { not_null(steps, "steps") = static_cast<int64_t>(opened(series).steps().size()); });
}

int tailrace_step(const tailrace_series *series, int64_t step, int64_t *index, double *time) {
  return guarded([&] {
    const io::Series &in = opened(series);
    const auto &steps = in.steps();
    if (step < 0 || step >= static_cast<int64_t>(steps.size()))
      throw InputError(fmt::format("{} has {} steps; there is no step number {}", in.path(), steps.size(), step));
    not_null(index, "index") = steps[static_cast<std::size_t>(step)].index;
    not_null(time, "time") = steps[static_cast<std::size_t>(step)].time;
  });
}

int tailrace_variables(const tailrace_series *series, int64_t step, int64_t *variables) {
  return guarded([&] {
    not_null(variables, "variables") = static_cast<int64_t>(opened(series).variables(position(step)).size());
  });
}

int tailrace_variable_name(const tailrace_series *series, int64_t step, int64_t number, const char **name) {
  return guarded([&] {
    const auto all = opened(series).variables(position(step));
    if (number < 0 || number >= static_cast<int64_t>(all.size()))
      throw InputError(fmt::format("{}: step number {} has {} variables; there is no number {}", opened(series).path(),
                                   step, all.size(), number));
    hand_out(series, all[static_cast<std::size_t>(number)].name, name);
  });
}

int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t *shape, int *type,
                      int *is_list) {
  return guarded([&] {
    const io::VariableInfo found = opened(series).variable(position(step), text(name));
    for (int d = 0; shape != nullptr && d < 3; ++d)
      shape[d] = found.shape[d];
    if (type != nullptr)
      *type = number_of(found.type);
    if (is_list != nullptr)
      *is_list = found.list ? 1 : 0;
  });
}

int tailrace_components(const tailrace_series *series, int64_t step, const char *name, int64_t *components) {
  return guarded(
      [&] { not_null(components, "components") = io::count_components(opened(series), position(step), text(name)); });
}

int tailrace_read(const tailrace_series *series, int64_t step, const char *name, int type, int dimensions,
                  const int64_t *start, const int64_t *count, void *data) {
  return read(series, step, name, type, dimensions, start, count, data);
}

int tailrace_read_list(const tailrace_series *series, int64_t step, const char *name, int type, int64_t first,
                       int64_t rows, void *data) {
  return guarded([&] {
    const io::Series &in = opened(series);
    io::Type wanted = io::Type::float64;
    Box box;
    in.communicator().agree([&] {
      wanted = type_of(name, type);
      const io::VariableInfo found = in.variable(position(step), text(name));
      if (!found.list)
        throw InputError(fmt::format("{}: '{}' is no list", in.path(), text(name)));
      box = {{0, first, 0}, {found.shape[0], rows, 1}};
    });
    in.read(position(step), text(name), wanted, box, data);
  });
}

int tailrace_scalar_type(const tailrace_series *series, int64_t step, const char *name, int *type) {
  return guarded([&] {
    const io::Scalar found = scalar(series, step, name);
    not_null(type, "type") = std::holds_alternative<double>(found)        ? TAILRACE_FLOAT64
                             : std::holds_alternative<std::string>(found) ? TAILRACE_TEXT
                                                                          : TAILRACE_INT64;
  });
}

int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value) {
  return guarded([&] { not_null(value, "value") = scalar_as<double>(series, step, name, "number"); });
}

int tailrace_read_scalar_int64(const tailrace_series *series, int64_t step, const char *name, int64_t *value) {
  return guarded([&] { not_null(value, "value") = scalar_as<std::int64_t>(series, step, name, "integer"); });
}

int tailrace_read_scalar_text(const tailrace_series *series, int64_t step, const char *name, const char **value) {
  return guarded([&] { hand_out(series, scalar_as<std::string>(series, step, name, "text"), value); });
}

int tailrace_attributes(const tailrace_series *series, int64_t *attributes) {
  return guarded(
      [&] { not_null(attributes, "attributes") = static_cast<int64_t>(opened(series).attributes().size()); });
}

int tailrace_attribute_name(const tailrace_series *series, int64_t number, const char **name) {
  return guarded([&] {
    const io::Attributes all = opened(series).attributes();
    if (number < 0 || number >= static_cast<int64_t>(all.size()))
      throw InputError(
          fmt::format("{} has {} attributes; there is no number {}", opened(series).path(), all.size(), number));
    hand_out(series, std::next(all.begin(), number)->first, name);
  });
}

int tailrace_attribute(const tailrace_series *series, const char *name, int *type, int64_t *count) {
  return guarded([&] {
    const io::Attribute found = attribute(series, name);
    int kind = TAILRACE_TEXT;
    int64_t numbers = 1;
    if (const auto *reals = std::get_if<std::vector<double>>(&found))
      numbers = static_cast<int64_t>(reals->size());
    if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&found))
      numbers = static_cast<int64_t>(integers->size());
    if (std::holds_alternative<double>(found) || std::holds_alternative<std::vector<double>>(found))
      kind = TAILRACE_FLOAT64;
    else if (!std::holds_alternative<std::string>(found))
      kind = TAILRACE_INT64;
    if (type != nullptr)
      *type = kind;
    if (count != nullptr)
      *count = numbers;
  });
}

int tailrace_get_attribute(const tailrace_series *series, const char *name, int64_t count, double *values) {
  return get_attribute(series, name, count, values);
}

int tailrace_get_attribute_int64(const tailrace_series *series, const char *name, int64_t count, int64_t *values) {
  return get_attribute(series, name, count, values);
}

int tailrace_get_attribute_text(const tailrace_series *series, const char *name, const char **value) {
  return guarded([&] {
    const io::Attribute found = attribute(series, name);
    if (!std::holds_alternative<std::string>(found))
      throw InputError(fmt::format("{}: attribute '{}' is no text", opened(series).path(), text(name)));
    hand_out(series, std::get<std::string>(found), value);
  });
}

int tailrace_verify(const tailrace_series *series, int64_t step, const char **text) {
  return guarded([&] {
    const io::Series &in = opened(series);
    in.communicator().agree([&] {
      position(step);
      not_null(text, "text");
    });
    hand_out(series, fmt::format("{}", fmt::join(in.verify(position(step)), "\n")), text);
  });
}
