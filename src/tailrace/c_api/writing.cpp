#include <tailrace/c_api/handles.hpp>
#include <tailrace/io/data/block.hpp>

#include <algorithm>
#include <functional>
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

/// A caller's description of an array of one to four dimensions.
struct GivenArray {
  const char *name;
  int type, dimensions;
  const int64_t *shape, *start, *count, *ghosts;
  const void *data;
};

io::WriteRequest request_of(const GivenArray &given) {
  const int directions = given.dimensions == 4 ? 3 : given.dimensions;
  io::WriteRequest request{text(given.name), type_of(given.name, given.type), given.data, {}, {}, {}};
  auto &[shape, block, memory] = request.place;
  shape = three(directions, given.shape, 1, "shape");
  block = {three(directions, given.start, 0, "start"), three(directions, given.count, 1, "count")};
  memory = memory_of(block, directions, given.ghosts);
  if (given.dimensions != 4)
    return request;
  request.components = given.shape[3];
  if (given.start[3] != 0 || given.count[3] != given.shape[3] || (given.ghosts != nullptr && given.ghosts[3] != 0))
    throw InputError(
        fmt::format("{}: a rank writes all {} components and no ghosts of them; found {} from number {} on",
                    request.name, given.shape[3], given.count[3], given.start[3]));
  return request;
}

int write(const char *function, tailrace_series *series, const GivenArray &given, io::Put put) {
  return guarded(function, [&] {
    opened(series).write([&] {
      io::WriteRequest request = request_of(given);
      request.put = put;
      return request;
    });
  });
}

/// Sets an attribute of a series that is open, or keeps it for the next open.
void set_attribute(tailrace_series *series, const char *name, const std::function<io::Attribute()> &value) {
  tailrace_series &handle = not_null(series, "series");
  if (!handle.open) {
    io::check_attribute_name(text(name)); // here, where the text names this function; open would be too late
    handle.attributes[text(name)] = value();
    return;
  }
  io::Attribute given;
  handle.open->agree([&] { given = value(); });
  handle.open->set_attribute(text(name), given);
}

template <class T>
int set_numbers(const char *function, tailrace_series *series, const char *name, int64_t count, const T *values) {
  return guarded(function, [&] {
    set_attribute(series, name, [&]() -> io::Attribute {
      if (count < 1)
        throw InputError(fmt::format("attribute '{}' has {} numbers: expected at least 1", text(name), count));
      const T *first = &not_null(values, "values");
      return count == 1 ? io::Attribute(*first) : io::Attribute(std::vector<T>(first, first + count));
    });
  });
}

} // namespace

int tailrace_declare(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, int type) {
  return guarded(__func__, [&] {
    io::Series &out = opened(series);
    Index3 n{};
    io::Type stored = io::Type::float64;
    out.agree([&] {
      n = three(dimensions, shape, 1, "shape");
      stored = type_of(name, type);
    });
    out.declare(text(name), n, stored);
  });
}

int tailrace_begin_step(tailrace_series *series, int64_t index, double time) {
  return guarded(__func__, [&] { opened(series).begin_step(index, time); });
}

int tailrace_step_taken(const tailrace_series *series, int *taken) {
  return guarded(__func__, [&] { not_null(taken, "taken") = opened(series).step_taken() ? 1 : 0; });
}

int tailrace_write(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                   const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data) {
  return write(__func__, series, {name, type, dimensions, shape, start, count, ghosts, data}, io::Put::sync);
}

int tailrace_write_deferred(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                            const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data) {
  return write(__func__, series, {name, type, dimensions, shape, start, count, ghosts, data}, io::Put::deferred);
}

int tailrace_write_region(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data,
                          const int64_t *first, const int64_t *points, const int64_t *stride) {
  return guarded(__func__, [&] {
    opened(series).write([&] {
      io::WriteRequest request = request_of({name, type, dimensions, shape, start, count, ghosts, data});
      const int directions = std::min(dimensions, 3);
      io::Region &region = request.region.emplace();
      region.start = three(directions, first, 0, "first");
      region.count = three(directions, points, 1, "points");
      if (stride != nullptr)
        region.stride = three(directions, stride, 1, "stride");
      return request;
    });
  });
}

int tailrace_write_list(tailrace_series *series, const char *name, int type, int64_t rows, int64_t columns,
                        const void *data) {
  return guarded(__func__, [&] {
    opened(series).write([&] {
      const Box block{{0, 0, 0}, {columns, rows, 1}};
      io::WriteRequest request{text(name), type_of(name, type), data, {block.count, block, block}};
      request.list = true;
      return request;
    });
  });
}

int tailrace_write_scalar(tailrace_series *series, const char *name, double value) {
  return guarded(__func__, [&] { opened(series).write_scalar(text(name), value); });
}

int tailrace_write_scalar_int64(tailrace_series *series, const char *name, int64_t value) {
  return guarded(__func__, [&] { opened(series).write_scalar(text(name), std::int64_t{value}); });
}

int tailrace_write_scalar_text(tailrace_series *series, const char *name, const char *value) {
  return guarded(__func__, [&] { opened(series).write_scalar(text(name), text(value)); });
}

int tailrace_set_attribute(tailrace_series *series, const char *name, int64_t count, const double *values) {
  return set_numbers(__func__, series, name, count, values);
}

int tailrace_set_attribute_int64(tailrace_series *series, const char *name, int64_t count, const int64_t *values) {
  return set_numbers(__func__, series, name, count, values);
}

int tailrace_set_attribute_text(tailrace_series *series, const char *name, const char *value) {
  return guarded(__func__, [&] { set_attribute(series, name, [&]() -> io::Attribute { return text(value); }); });
}

int tailrace_set_attribute_texts(tailrace_series *series, const char *name, int64_t count, const char *const *values) {
  return guarded(__func__, [&] {
    set_attribute(series, name, [&]() -> io::Attribute {
      if (count < 1)
        throw InputError(fmt::format("attribute '{}' has {} texts: expected at least 1", text(name), count));
      const char *const *first = &not_null(values, "values");
      std::vector<std::string> texts;
      for (int64_t i = 0; i < count; ++i)
        texts.push_back(text(first[i]));
      return texts;
    });
  });
}

int tailrace_end_step(tailrace_series *series) {
  return guarded(__func__, [&] { opened(series).end_step(); });
}
