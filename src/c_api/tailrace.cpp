#include <tailrace/c_api/tailrace.h>

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>

using namespace tailrace;

struct tailrace_decomposition {
  Decomposition decomposition;
};

struct tailrace_series {
  io::Options options; ///< of the next open
  std::optional<io::Series> open;
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
    throw InputError(fmt::format("expected 1 to 3 dimensions, found {}", dimensions));
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

template <class T>
int write(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, const int64_t *start,
          const int64_t *count, const int64_t *ghosts, const T *data) {
  return guarded([&] {
    io::Series &out = opened(series);
    io::Placement place;
    out.communicator().agree([&] {
      place.shape = three(dimensions, shape, 1, "shape");
      place.block = {three(dimensions, start, 0, "start"), three(dimensions, count, 1, "count")};
      place.memory = memory_of(place.block, dimensions, ghosts);
    });
    out.write(text(name), data, place);
  });
}

template <class T>
int read(const tailrace_series *series, int64_t step, const char *name, int dimensions, const int64_t *start,
         const int64_t *count, T *data) {
  return guarded([&] {
    const io::Series &in = opened(series);
    Box box;
    in.communicator().agree([&] {
      position(step);
      box = {three(dimensions, start, 0, "start"), three(dimensions, count, 1, "count")};
    });
    in.read(position(step), text(name), box, data);
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
    out.communicator().agree([&] {
      n = three(dimensions, shape, 1, "shape");
      if (type != TAILRACE_FLOAT32 && type != TAILRACE_FLOAT64)
        throw InputError(fmt::format("{}: unknown type {}: expected TAILRACE_FLOAT32 ({}) or TAILRACE_FLOAT64 ({})",
                                     text(name), type, static_cast<int>(TAILRACE_FLOAT32),
                                     static_cast<int>(TAILRACE_FLOAT64)));
    });
    out.declare(text(name), n, type == TAILRACE_FLOAT32 ? io::Type::float32 : io::Type::float64);
  });
}

int tailrace_begin_step(tailrace_series *series, int64_t index, double time) {
  return guarded([&] { opened(series).begin_step(index, time); });
}

int tailrace_write_float(tailrace_series *series, const char *name, int dimensions, const int64_t *shape,
                         const int64_t *start, const int64_t *count, const int64_t *ghosts, const float *data) {
  return write(series, name, dimensions, shape, start, count, ghosts, data);
}

int tailrace_write_double(tailrace_series *series, const char *name, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const double *data) {
  return write(series, name, dimensions, shape, start, count, ghosts, data);
}

int tailrace_write_scalar(tailrace_series *series, const char *name, double value) {
  return guarded([&] { opened(series).write_scalar(text(name), value); });
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

int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t *shape, int *type) {
  return guarded([&] {
    const io::VariableInfo found = opened(series).variable(position(step), text(name));
    for (int d = 0; shape != nullptr && d < 3; ++d)
      shape[d] = found.shape[d];
    if (type != nullptr)
      *type = found.type == io::Type::float32 ? TAILRACE_FLOAT32 : TAILRACE_FLOAT64;
  });
}

int tailrace_read_float(const tailrace_series *series, int64_t step, const char *name, int dimensions,
                        const int64_t *start, const int64_t *count, float *data) {
  return read(series, step, name, dimensions, start, count, data);
}

int tailrace_read_double(const tailrace_series *series, int64_t step, const char *name, int dimensions,
                         const int64_t *start, const int64_t *count, double *data) {
  return read(series, step, name, dimensions, start, count, data);
}

int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value) {
  return guarded([&] {
    const io::Series &in = opened(series);
    const io::Scalars scalars = in.scalars(position(step));
    const auto found = scalars.find(text(name));
    if (found == scalars.end())
      throw InputError(fmt::format("{}: step number {} has no scalar '{}'", in.path(), step, text(name)));
    const auto *number = std::get_if<double>(&found->second);
    if (number == nullptr)
      throw InputError(fmt::format("{}: scalar '{}' is no real number", in.path(), name));
    not_null(value, "value") = *number;
  });
}
