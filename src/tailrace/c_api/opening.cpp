#include <tailrace/c_api/handles.hpp>
#include <tailrace/grid/grid.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::c_api;

namespace {

/// Refuses attributes that were set before open and that open cannot set: setting one is collective, and needs a series
/// that is written. Collective.
void check_attributes(const Communicator &comm, const io::Attributes &attributes, const char *path, io::Mode mode) {
  std::string names;
  for (const auto &[name, value] : attributes)
    names += (names.empty() ? "" : ", ") + name;
  const std::string first = comm.broadcast(names, 0);
  comm.agree([&] {
    if (names != first)
      throw InputError(fmt::format("{}: before open, rank {} has set the attributes '{}', and rank 0 has set '{}'; set "
                                   "the same ones on all ranks",
                                   path, comm.rank(), names, first));
    if (!names.empty() && mode == io::Mode::read)
      throw InputError(
          fmt::format("{}: the attributes '{}' were set before open, and mode 'r' only reads; open with w, "
                      "x or a, or set none",
                      path, names));
  });
}

void open(tailrace_series *series, const Communicator &comm, const char *path, const char *mode, const char *engine) {
  tailrace_series &handle = closed(series);
  const std::string wanted = text(mode);
  io::Mode how = io::Mode::read;
  comm.agree([&] {
    if (text(path).empty())
      throw InputError("the path of the series is empty");
    if (wanted != "w" && wanted != "x" && wanted != "a" && wanted != "r")
      throw InputError(fmt::format("{}: unknown mode '{}': expected w, x, a or r", path, wanted));
  });
  if (wanted != "r")
    how = wanted == "w" ? io::Mode::write : wanted == "x" ? io::Mode::exclusive : io::Mode::append;
  handle.options.engine = text(engine);
  const io::Options options = std::exchange(handle.options, {});
  io::Attributes attributes = std::exchange(handle.attributes, {});
  const io::Attributes box = std::exchange(handle.box, {});
  check_attributes(comm, attributes, path, how);
  if (how != io::Mode::read)
    attributes.insert(box.begin(), box.end());
  handle.open.emplace(path, how, comm, options);
  for (const auto &[name, value] : attributes)
    handle.open->set_attribute(name, value);
}

/// The attributes that describe a box: those that were given.
io::Attributes box_of(const double *lengths, const char *boundaries) {
  io::Attributes found;
  if (lengths != nullptr && std::any_of(lengths, lengths + 3, [](double length) { return length != 0; })) {
    found["lengths"] = std::vector<double>(lengths, lengths + 3);
    for (int d = 0; d < 3; ++d)
      if (!(lengths[d] > 0) || !std::isfinite(lengths[d]))
        throw InputError(fmt::format("grid: the length in {} is {}; expected more than 0", "xyz"[d], lengths[d]));
  }
  if (!text(boundaries).empty()) {
    std::istringstream names(text(boundaries));
    std::vector<std::string> three;
    for (std::string name; std::getline(names, name, ','); three.push_back(name))
      sides_from_name(name);
    if (three.size() != 3)
      throw InputError(fmt::format("grid: the boundaries are '{}'; expected three, in x, y and z, with commas between "
                                   "them",
                                   boundaries));
    found["boundaries"] = fmt::format("{}", fmt::join(three, ",")); // without a comma behind the last
  }
  return found;
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

// ---- decomposition ----

int tailrace_decomposition_new(tailrace_decomposition **decomposition, MPI_Comm comm, const int64_t *shape, int rows,
                               int cols) {
  return guarded(__func__, [&] { decompose(decomposition, Communicator(comm), shape, rows, cols); });
}

int tailrace_decomposition_new_f(tailrace_decomposition **decomposition, MPI_Fint comm, const int64_t *shape, int rows,
                                 int cols) {
  return guarded(__func__, [&] { decompose(decomposition, Communicator::from_fortran(comm), shape, rows, cols); });
}

int tailrace_decomposition_box(const tailrace_decomposition *decomposition, int direction, int64_t *start,
                               int64_t *count) {
  return guarded(__func__, [&] {
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
  return guarded(__func__, [&] { not_null(series, "series") = new tailrace_series; });
}

int tailrace_set_parameter(tailrace_series *series, const char *name, const char *value) {
  return guarded(__func__, [&] { closed(series).options.parameters[text(name)] = text(value); });
}

int tailrace_set_grid(tailrace_series *series, const int64_t *points, const double *origin, const double *spacing,
                      const double *lengths, const char *boundaries) {
  return guarded(__func__, [&] {
    io::GridDescription grid{three(3, points, 1, "points"), {}, {}};
    not_null(origin, "origin");
    not_null(spacing, "spacing");
    for (int d = 0; d < 3; ++d) {
      grid.origin[d] = origin[d];
      grid.spacing[d] = spacing[d];
    }
    const io::Attributes box = box_of(lengths, boundaries);
    closed(series).options.grid = grid;
    series->box = box;
  });
}

int tailrace_set_rewind(tailrace_series *series, int64_t index) {
  return guarded(__func__, [&] { closed(series).options.rewind_to = index; });
}

int tailrace_open(tailrace_series *series, MPI_Comm comm, const char *path, const char *mode, const char *engine) {
  return guarded(__func__, [&] { open(series, Communicator(comm), path, mode, engine); });
}

int tailrace_open_f(tailrace_series *series, MPI_Fint comm, const char *path, const char *mode, const char *engine) {
  return guarded(__func__, [&] { open(series, Communicator::from_fortran(comm), path, mode, engine); });
}

int tailrace_close(tailrace_series *series) {
  return guarded(__func__, [&] {
    if (series == nullptr || !series->open)
      return;
    io::Series closing = std::move(*series->open);
    series->open.reset();
    closing.close();
  });
}

int tailrace_is_open(const tailrace_series *series) { return series != nullptr && series->open ? 1 : 0; }

int tailrace_notes(const tailrace_series *series, const char **text) {
  return guarded(__func__, [&] { hand_out(series, fmt::format("{}", fmt::join(opened(series).notes(), "\n")), text); });
}

int tailrace_counters(const tailrace_series *series, int64_t *bytes_written, int64_t *bytes_read, int64_t *steps) {
  return guarded(__func__, [&] {
    const io::Counters counted = opened(series).counters();
    give(bytes_written, counted.bytes_written);
    give(bytes_read, counted.bytes_read);
    give(steps, counted.steps);
  });
}

int tailrace_dropped(const tailrace_series *series, int64_t *dropped, int64_t *skipped, int64_t *unread) {
  return guarded(__func__, [&] {
    const io::Coupling found = opened(series).coupling();
    give(dropped, found.dropped);
    give(skipped, found.skipped);
    give(unread, found.unread);
  });
}

int tailrace_seconds(const tailrace_series *series, const char *phase, double *seconds) {
  return guarded(__func__, [&] {
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
