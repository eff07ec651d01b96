#include <tailrace/c_api/handles.hpp>
#include <tailrace/io/components.hpp>

#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::c_api;

namespace {

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

} // namespace

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

int tailrace_step_taken(const tailrace_series *series, int *taken) {
  return guarded([&] { not_null(taken, "taken") = opened(series).step_taken() ? 1 : 0; });
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
