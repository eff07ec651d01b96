#include <tailrace/io/adios2/contents.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <complex>
#include <map>
#include <string>
#include <type_traits>

namespace tailrace::io::bp {

namespace {

const std::string attribute_prefix = "tailrace/attributes/", grid_prefix = "tailrace/grid/";

// All attributes are modifiable, because the caller may set them again.
template <class T> void define(adios2::IO &io, const std::string &name, const T &value) {
  io.DefineAttribute<T>(name, value, "", "/", true);
}
template <class T> void define(adios2::IO &io, const std::string &name, const std::vector<T> &values) {
  io.DefineAttribute<T>(name, values.data(), values.size(), "", "/", true);
}

template <class T> Attribute number(adios2::IO &io, const std::string &name) {
  const auto attribute = io.InquireAttribute<T>(name);
  const std::vector<T> data = attribute.Data();
  return attribute.IsValue() ? Attribute(data.at(0)) : Attribute(data);
}

template <class Three> void read_three(adios2::IO &io, const std::string &name, Three &values) {
  const auto found = io.InquireAttribute<typename Three::value_type>(grid_prefix + name);
  const auto data = found ? found.Data() : std::vector<typename Three::value_type>();
  if (data.size() != values.size())
    throw IoError(
        fmt::format("the attribute {}{} has {} values; expected {}", grid_prefix, name, data.size(), values.size()));
  std::ranges::copy(data, values.begin());
}

std::optional<Attribute> read_one(adios2::IO &io, const std::string &name) {
  const std::string type = io.AttributeType(name);
  if (type == "string") {
    const auto attribute = io.InquireAttribute<std::string>(name);
    const std::vector<std::string> texts = attribute.Data();
    return attribute.IsValue() ? Attribute(texts.at(0)) : Attribute(texts);
  }
  if (type == "int64_t")
    return number<std::int64_t>(io, name);
  if (type == "double")
    return number<double>(io, name);
  return std::nullopt;
}

} // namespace

namespace {

constexpr std::size_t longest_of_hdf5 = 99;    ///< of longer names of attributes ADIOS2 reads the beginning, and fails
constexpr std::size_t largest_of_hdf5 = 60000; ///< bytes; HDF5 takes less than 64 KiB, of all versions of its format

template <class T> std::size_t bytes_of(const T &) { return sizeof(T); }
std::size_t bytes_of(const std::string &text) { return text.size(); }
template <class T> std::size_t bytes_of(const std::vector<T> &values) { return values.size() * sizeof(T); }
std::size_t bytes_of(const std::vector<std::string> &) { return 0; } // which ADIOS2 does not read back

/// Whether the engine HDF5 cannot hold it: an empty text ends the program. The sidecar has it all the same.
bool ends_hdf5(adios2::IO &io, const std::string &name, const Attribute &value) {
  if (io.EngineType() != "HDF5")
    return false;
  const std::size_t bytes = std::visit([](const auto &v) { return bytes_of(v); }, value);
  return bytes == 0 || bytes > largest_of_hdf5 || name.size() > longest_of_hdf5;
}

} // namespace

void write_attributes(adios2::IO &io, const Attributes &attributes) {
  for (const auto &[name, value] : attributes)
    if (!ends_hdf5(io, attribute_prefix + name, value))
      std::visit([&, &key = name](const auto &v) { define(io, attribute_prefix + key, v); }, value);
}

Attributes read_attributes(adios2::IO &io) {
  Attributes result;
  for (const auto &[name, about] : io.AvailableAttributes())
    if (name.rfind(attribute_prefix, 0) == 0)
      if (const auto value = read_one(io, name))
        result[name.substr(attribute_prefix.size())] = *value;
  return result;
}

void write_grid(adios2::IO &io, const GridDescription &grid) {
  define(io, grid_prefix + "points", std::vector<std::int64_t>(grid.points.begin(), grid.points.end()));
  define(io, grid_prefix + "origin", std::vector<double>(grid.origin.begin(), grid.origin.end()));
  define(io, grid_prefix + "spacing", std::vector<double>(grid.spacing.begin(), grid.spacing.end()));
  for (std::size_t d = 0; d < 3; ++d)
    if (!grid.coordinates[d].empty())
      define(io, grid_prefix + "coordinates/" + "xyz"[d], grid.coordinates[d]);
}

std::optional<GridDescription> read_grid(adios2::IO &io) {
  if (!io.InquireAttribute<std::int64_t>(grid_prefix + "points"))
    return std::nullopt;
  GridDescription grid;
  read_three(io, "points", grid.points);
  read_three(io, "origin", grid.origin);
  read_three(io, "spacing", grid.spacing);
  for (std::size_t d = 0; d < 3; ++d)
    if (const auto found = io.InquireAttribute<double>(grid_prefix + "coordinates/" + "xyz"[d]))
      grid.coordinates[d] = found.Data();
  return grid;
}

std::optional<Type> type_of(const std::string &adios2_type) {
  static const std::map<std::string, Type> all = [] {
    std::map<std::string, Type> names;
    for (const TypeTraits &one : all_types())
      if (has_adios2(one.type))
        names[with_type(one.type, []<class T>(T) { return adios2::GetType<T>(); })] = one.type;
    return names;
  }();
  const auto found = all.find(adios2_type);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

adios2::Dims dims(const Index3 &n) {
  return {static_cast<std::size_t>(n[2]), static_cast<std::size_t>(n[1]), static_cast<std::size_t>(n[0])};
}

namespace {

/// Selects one step of a variable; false: the step does not hold it. ADIOS2 counts only steps with the variable.
template <class T>
bool select_step(adios2::Engine &engine, HeldSteps &held, adios2::Variable<T> &variable, std::size_t step) {
  if (!variable)
    return false;
  const auto [place, added] = held.try_emplace(variable.Name());
  auto &steps = place->second;
  if (added)
    steps = engine.GetAbsoluteSteps(variable);
  const auto found = std::lower_bound(steps.begin(), steps.end(), step);
  if (found == steps.end() || *found != step)
    return false;
  variable.SetStepSelection({static_cast<std::size_t>(found - steps.begin()), 1});
  return true;
}

/// Whether a step holds a variable of one of the types T, or, which cannot be asked for, the file one of another type.
template <class... T>
bool holds(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const std::string &name,
           const std::string &type) {
  const bool known = (... || (type == adios2::GetType<T>()));
  const auto in_step = [&]<class U>(U) {
    auto variable = io.InquireVariable<U>(name);
    return select_step(engine, held, variable, step);
  };
  return !known || (... || (type == adios2::GetType<T>() && in_step(T())));
}

bool is_empty(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step) {
  const auto all = io.AvailableVariables(true);
  return std::none_of(all.begin(), all.end(), [&](const auto &one) {
    return holds<std::string, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                 std::uint32_t, std::uint64_t, float, double, long double, std::complex<float>, std::complex<double>>(
        io, engine, held, step, one.first, io.VariableType(one.first));
  });
}

template <class T> T value(adios2::Engine &engine, adios2::Variable<T> &variable) {
  T result{};
  engine.Get(variable, result, adios2::Mode::Sync);
  return result;
}

template <class T>
std::optional<VariableInfo> describe(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step,
                                     const std::string &name) {
  auto variable = io.InquireVariable<T>(name);
  if (!select_step(engine, held, variable, step))
    return std::nullopt;
  // BP4 expects the number of the step in the file; other engines count only the steps that hold the variable.
  const adios2::Dims shape = engine.Type() == "BP4Reader" ? variable.Shape(step) : variable.Shape();
  const auto n = [&](std::size_t d) { return static_cast<std::int64_t>(shape[d]); };
  if (shape.size() != 3)
    return std::nullopt;
  return VariableInfo{name, io::type_of<T>(), {n(2), n(1), n(0)}};
}

/// The lists of a step, including the empty lists, which ADIOS2 does not store.
std::vector<VariableInfo> lists(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step) {
  const std::string known = text(io, engine, held, step, lists_name);
  if (known.empty())
    return {};
  try {
    return lists_from_json(parse_json(known));
  } catch (const std::exception &error) { // of the JSON library, or an InputError
    throw IoError(
        fmt::format("cannot read {}: '{}' of step {} is damaged ({})", engine.Name(), lists_name, step, error.what()));
  }
}

/// Adds the value of a variable that is not an array, stored as S, as a scalar of type T.
template <class T, class S>
void add_scalar(Scalars &scalars, adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step,
                const std::string &name) {
  auto variable = io.InquireVariable<T>(name);
  if (variable && variable.Shape().empty() && select_step(engine, held, variable, step))
    scalars[name] = S(value(engine, variable));
}

template <class T>
void read_as(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const std::string &name,
             const Box &box, void *data) {
  auto variable = io.InquireVariable<T>(name);
  if (!select_step(engine, held, variable, step))
    throw InputError(fmt::format("there is no variable '{}' in this step", name)); // Series has checked the name
  variable.SetSelection({dims(box.start), dims(box.count)});
  engine.Get(variable, static_cast<T *>(data), adios2::Mode::Sync);
}

} // namespace

std::string kind_of(bool array, const std::string &type) {
  return fmt::format("{} of {}", array ? "an array" : "a single value", type);
}

Kinds kinds(adios2::IO &io) {
  Kinds found;
  for (const auto &[name, about] : io.AvailableVariables(true)) {
    const std::string type = io.VariableType(name);
    const auto is_array = [&, &key = name]<class T>(T) {
      const auto variable = io.InquireVariable<T>(key);
      return variable && variable.ShapeID() == adios2::ShapeID::GlobalArray;
    };
    const auto number = type_of(type);
    found[name] = kind_of(number && with_type(*number, is_array), type);
  }
  return found;
}

std::vector<NumberedStep> steps(adios2::IO &io, adios2::Engine &engine, HeldSteps &held) {
  if (io.AvailableVariables().empty()) // closed before its first step; asking for a variable would end the program
    return {};
  auto index = io.InquireVariable<std::int64_t>("step");
  auto time = io.InquireVariable<double>("time");
  std::vector<NumberedStep> result;
  for (std::size_t step = 0; step < engine.Steps(); ++step)
    if (select_step(engine, held, index, step) && select_step(engine, held, time, step))
      result.push_back({{value(engine, index), value(engine, time)}, step});
    else if (!is_empty(io, engine, held, step))
      throw IoError(fmt::format("cannot open {}: its steps have no variables 'step' and 'time'", engine.Name()));
  return result;
}

std::vector<VariableInfo> variables(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step) {
  std::vector<VariableInfo> result = lists(io, engine, held, step);
  const auto listed = [&](const std::string &name) {
    return std::any_of(result.begin(), result.end(), [&](const auto &info) { return info.name == name; });
  };
  for (const auto &[name, about] : io.AvailableVariables(true)) {
    if (listed(name))
      continue;
    const auto type = type_of(io.VariableType(name));
    const auto info =
        type ? with_type(*type, [&, &name = name]<class T>(T) { return describe<T>(io, engine, held, step, name); })
             : std::nullopt;
    if (info)
      result.push_back(*info);
  }
  try {
    for (const auto &info : result)
      if (info.list || std::ranges::find(info.shape, 0) == info.shape.end()) // other programs write arrays of nothing
        check_shape(info.name, info.shape, info.list);
  } catch (const InputError &error) {
    throw IoError(fmt::format("cannot read {}: step {} is damaged ({})", engine.Name(), step, error.what()));
  }
  std::sort(result.begin(), result.end(), [](const auto &a, const auto &b) { return a.name < b.name; });
  return result;
}

Scalars scalars(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step) {
  Scalars result;
  for (const auto &[name, about] : io.AvailableVariables(true)) {
    if (name == "time" || name == "step" || name.rfind("tailrace/", 0) == 0)
      continue;
    const std::string stored = io.VariableType(name);
    if (stored == "string")
      add_scalar<std::string, std::string>(result, io, engine, held, step, name);
    else if (const auto type = type_of(stored))
      with_type(*type, [&, &name = name]<class T>(T) {
        if constexpr (std::is_floating_point_v<T>)
          add_scalar<T, double>(result, io, engine, held, step, name);
        else if constexpr (is_whole<T>)
          add_scalar<T, std::int64_t>(result, io, engine, held, step, name);
      });
  }
  return result;
}

std::string name_of_part(const std::string &name, std::size_t part) {
  return part == 0 ? name : fmt::format("{}.{}", name, part);
}

std::string text(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const std::string &name) {
  std::string result;
  for (std::size_t part = 0;; ++part) {
    auto variable = io.InquireVariable<std::string>(name_of_part(name, part));
    if (!select_step(engine, held, variable, step))
      return result;
    result += value(engine, variable);
  }
}

void read(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const VariableInfo &variable,
          const Box &box, void *data) {
  with_type(variable.type,
            [&](auto zero) { read_as<decltype(zero)>(io, engine, held, step, variable.name, box, data); });
}

} // namespace tailrace::io::bp

#endif
