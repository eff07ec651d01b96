#include <tailrace/c_api/handles.hpp>
#include <tailrace/io/components.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <variant>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::c_api;

namespace {

io::Scalar scalar(const tailrace_series *series, int64_t step, const char *name) {
  const io::Series &in = opened(series);
  const io::Scalars scalars = in.scalars(position(step));
  const auto found = scalars.find(text(name));
  if (found == scalars.end())
    throw InputError(fmt::format("{}: step number {} has no scalar '{}'", in.path(), step, text(name)));
  return found->second;
}

/// The value of a scalar as T; an integer can also be read as double.
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

template <class T>
int get_attribute(const char *function, const tailrace_series *series, const char *name, int64_t count, T *values) {
  return guarded(function, [&] {
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

} // namespace

int tailrace_steps(const tailrace_series *series, int64_t *steps) {
  return guarded(__func__, [&] { not_null(steps, "steps") = static_cast<int64_t>(opened(series).steps().size()); });
}

int tailrace_step(const tailrace_series *series, int64_t step, int64_t *index, double *time) {
  return guarded(__func__, [&] {
    const io::Series &in = opened(series);
    const auto &steps = in.steps();
    if (step < 0 || step >= static_cast<int64_t>(steps.size()))
      throw InputError(fmt::format("{} has {} steps; there is no step number {}", in.path(), steps.size(), step));
    not_null(index, "index") = steps[static_cast<std::size_t>(step)].index;
    not_null(time, "time") = steps[static_cast<std::size_t>(step)].time;
  });
}

int tailrace_variables(const tailrace_series *series, int64_t step, int64_t *variables) {
  return guarded(__func__, [&] {
    not_null(variables, "variables") = static_cast<int64_t>(opened(series).variables(position(step)).size());
  });
}

int tailrace_variable_name(const tailrace_series *series, int64_t step, int64_t number, const char **name) {
  return guarded(__func__, [&] {
    const auto all = opened(series).variables(position(step));
    if (number < 0 || number >= static_cast<int64_t>(all.size()))
      throw InputError(fmt::format("{}: step number {} has {} variables; there is no number {}", opened(series).path(),
                                   step, all.size(), number));
    hand_out(series, all[static_cast<std::size_t>(number)].name, name);
  });
}

int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t *shape, int *type,
                      int *is_list) {
  return guarded(__func__, [&] {
    const io::VariableInfo found = opened(series).variable(position(step), text(name));
    for (int d = 0; shape != nullptr && d < 3; ++d)
      shape[d] = found.shape[d];
    give(type, number_of(found.type));
    give(is_list, found.list ? 1 : 0);
  });
}

int tailrace_components(const tailrace_series *series, int64_t step, const char *name, int64_t *components) {
  return guarded(__func__, [&] {
    not_null(components, "components") = io::count_components(opened(series), position(step), text(name));
  });
}

int tailrace_read(const tailrace_series *series, int64_t step, const char *name, int type, int dimensions,
                  const int64_t *start, const int64_t *count, void *data) {
  return guarded(__func__, [&] {
    opened(series).read(static_cast<std::size_t>(step), [&] {
      position(step);
      const int directions = dimensions == 4 ? 3 : dimensions;
      const Box box{three(directions, start, 0, "start"), three(directions, count, 1, "count")};
      io::ReadRequest request{text(name), type_of(name, type), box, data, {}};
      if (dimensions == 4) {
        request.components = count[3];
        request.first = start[3];
      }
      return request;
    });
  });
}

int tailrace_read_list(const tailrace_series *series, int64_t step, const char *name, int type, int64_t first,
                       int64_t rows, void *data) {
  return guarded(__func__, [&] {
    const io::Series &in = opened(series);
    in.read(static_cast<std::size_t>(step), [&] {
      const io::VariableInfo found = in.variable(position(step), text(name));
      if (!found.list)
        throw InputError(fmt::format("{}: '{}' is no list", in.path(), text(name)));
      return io::ReadRequest{text(name), type_of(name, type), {{0, first, 0}, {found.shape[0], rows, 1}}, data, {}};
    });
  });
}

int tailrace_scalar_type(const tailrace_series *series, int64_t step, const char *name, int *type) {
  return guarded(__func__, [&] {
    const io::Scalar found = scalar(series, step, name);
    not_null(type, "type") = std::holds_alternative<double>(found)        ? TAILRACE_FLOAT64
                             : std::holds_alternative<std::string>(found) ? TAILRACE_TEXT
                                                                          : TAILRACE_INT64;
  });
}

int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value) {
  return guarded(__func__, [&] { not_null(value, "value") = scalar_as<double>(series, step, name, "number"); });
}

int tailrace_read_scalar_int64(const tailrace_series *series, int64_t step, const char *name, int64_t *value) {
  return guarded(__func__, [&] { not_null(value, "value") = scalar_as<std::int64_t>(series, step, name, "integer"); });
}

int tailrace_read_scalar_text(const tailrace_series *series, int64_t step, const char *name, const char **value) {
  return guarded(__func__, [&] { hand_out(series, scalar_as<std::string>(series, step, name, "text"), value); });
}

int tailrace_attributes(const tailrace_series *series, int64_t *attributes) {
  return guarded(
      __func__, [&] { not_null(attributes, "attributes") = static_cast<int64_t>(opened(series).attributes().size()); });
}

int tailrace_attribute_name(const tailrace_series *series, int64_t number, const char **name) {
  return guarded(__func__, [&] {
    const io::Attributes all = opened(series).attributes();
    if (number < 0 || number >= static_cast<int64_t>(all.size()))
      throw InputError(
          fmt::format("{} has {} attributes; there is no number {}", opened(series).path(), all.size(), number));
    hand_out(series, std::next(all.begin(), number)->first, name);
  });
}

int tailrace_attribute(const tailrace_series *series, const char *name, int *type, int64_t *count) {
  return guarded(__func__, [&] {
    const io::Attribute found = attribute(series, name);
    int kind = TAILRACE_TEXT;
    int64_t numbers = 1;
    if (const auto *reals = std::get_if<std::vector<double>>(&found))
      numbers = static_cast<int64_t>(reals->size());
    if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&found))
      numbers = static_cast<int64_t>(integers->size());
    const auto *texts = std::get_if<std::vector<std::string>>(&found);
    if (texts)
      numbers = static_cast<int64_t>(texts->size());
    if (std::holds_alternative<double>(found) || std::holds_alternative<std::vector<double>>(found))
      kind = TAILRACE_FLOAT64;
    else if (!texts && !std::holds_alternative<std::string>(found))
      kind = TAILRACE_INT64;
    give(type, kind);
    give(count, numbers);
  });
}

int tailrace_get_attribute(const tailrace_series *series, const char *name, int64_t count, double *values) {
  return get_attribute(__func__, series, name, count, values);
}

int tailrace_get_attribute_int64(const tailrace_series *series, const char *name, int64_t count, int64_t *values) {
  return get_attribute(__func__, series, name, count, values);
}

int tailrace_get_attribute_text(const tailrace_series *series, const char *name, const char **value) {
  return guarded(__func__, [&] {
    const io::Attribute found = attribute(series, name);
    if (!std::holds_alternative<std::string>(found))
      throw InputError(fmt::format("{}: attribute '{}' is no single text", opened(series).path(), text(name)));
    hand_out(series, std::get<std::string>(found), value);
  });
}

int tailrace_get_attribute_text_at(const tailrace_series *series, const char *name, int64_t number,
                                   const char **value) {
  return guarded(__func__, [&] {
    const io::Attribute found = attribute(series, name);
    std::vector<std::string> texts;
    if (const auto *list = std::get_if<std::vector<std::string>>(&found))
      texts = *list;
    else if (const auto *one = std::get_if<std::string>(&found))
      texts = {*one};
    if (number < 0 || number >= static_cast<int64_t>(texts.size()))
      throw InputError(fmt::format("{}: attribute '{}' has {} texts; there is no number {}", opened(series).path(),
                                   text(name), texts.size(), number));
    hand_out(series, texts[static_cast<std::size_t>(number)], value);
  });
}

int tailrace_verify(const tailrace_series *series, int64_t step, const char **text) {
  return guarded(__func__, [&] {
    const io::Series &in = opened(series);
    in.agree([&] {
      position(step);
      not_null(text, "text");
    });
    hand_out(series, fmt::format("{}", fmt::join(in.verify(position(step)), "\n")), text);
  });
}
