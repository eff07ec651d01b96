#include <tailrace/io/adios2/foreign_bp.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/session.hpp>
#include <tailrace/io/engine/engine_turn.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace tailrace::io {

namespace {

using Extents = ForeignVariable::Extents;

template <class T> std::string numpy_name() {
  if constexpr (std::is_same_v<T, std::string>)
    return "text";
  else
    return fmt::format("{}{}", std::is_floating_point_v<T> ? "float" : (std::is_signed_v<T> ? "int" : "uint"),
                       8 * sizeof(T));
}

/// Calls `work` with a value of the C++ type that ADIOS2 names; false: it is none of those that are read.
template <class Work> bool with_named(const std::string &type, Work work) {
  const auto try_one = [&]<class T>(T zero) {
    if (type != adios2::GetType<T>())
      return false;
    work(zero);
    return true;
  };
  return [&]<class... T>(T... zeros) {
    return (... || try_one(zeros));
  }(float{}, double{}, std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{}, std::uint8_t{}, std::uint16_t{},
         std::uint32_t{}, std::uint64_t{}, char{}, std::string{});
}

Extents extents(const adios2::Dims &dims) { return {dims.begin(), dims.end()}; }

bool inside(const Extents &start, const Extents &count, const Extents &shape) {
  bool fits = start.size() == shape.size() && count.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d)
    fits = start[d] >= 0 && count[d] >= 0 && count[d] <= shape[d] && start[d] <= shape[d] - count[d];
  return fits;
}

/// A box from its first indices to those behind its last.
struct Reach {
  Extents start, end;
  bool operator==(const Reach &) const = default;
};

Reach overlap(const Reach &a, const Reach &b) {
  Reach both = a;
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    both.start[d] = std::max(a.start[d], b.start[d]);
    both.end[d] = std::min(a.end[d], b.end[d]);
  }
  return both;
}

bool is_empty(const Reach &region) {
  for (std::size_t d = 0; d < region.start.size(); ++d)
    if (region.start[d] >= region.end[d])
      return true;
  return false;
}

/// A box inside `wanted` that no block covers; none: they cover all of it. Blocks may overlap, so it is not enough to
/// add their sizes: `wanted` is halved along their faces until a block covers a half, or none touches it.
std::optional<Reach> uncovered(const Reach &wanted, const std::vector<Reach> &blocks) {
  std::vector<Reach> inside;
  for (const Reach &block : blocks) {
    Reach part = overlap(block, wanted);
    if (part == wanted)
      return std::nullopt;
    if (!is_empty(part))
      inside.push_back(std::move(part));
  }
  if (inside.empty())
    return wanted;
  Extents faces;
  std::size_t along = 0;
  for (std::size_t d = 0; d < wanted.start.size(); ++d) {
    Extents here;
    for (const Reach &part : inside)
      for (const auto face : {part.start[d], part.end[d]})
        if (face > wanted.start[d] && face < wanted.end[d])
          here.push_back(face);
    if (here.size() > faces.size()) {
      faces = std::move(here);
      along = d;
    }
  }
  const auto middle = faces.begin() + static_cast<std::ptrdiff_t>(faces.size() / 2);
  std::nth_element(faces.begin(), middle, faces.end());
  Reach low = wanted, high = wanted;
  low.end[along] = high.start[along] = *middle;
  const auto found = uncovered(low, inside);
  return found ? found : uncovered(high, inside);
}

/// Whether an int64 holds a whole number.
template <class T> bool fits(const T &value) {
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return std::in_range<std::int64_t>(value);
  else
    return true;
}

/// BP4 and BP5 differ in what a single value is, so one value is always a single one. None: no int64 holds a value.
template <class T> std::optional<Attribute> attribute_of(const std::vector<T> &values) {
  if (!std::all_of(values.begin(), values.end(), fits<T>))
    return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>) {
    return values.size() == 1 ? Attribute(values[0]) : Attribute(values);
  } else {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    if (values.size() == 1)
      return Attribute(static_cast<Wide>(values[0]));
    return Attribute(std::vector<Wide>(values.begin(), values.end()));
  }
}

/// An attribute by its name; none if it does not exist, or has no type or value of ours.
std::optional<Attribute> attribute_in(adios2::IO &io, const std::string &name) {
  std::optional<Attribute> found;
  with_named(io.AttributeType(name), [&]<class T>(T) { found = attribute_of(io.InquireAttribute<T>(name).Data()); });
  return found;
}

} // namespace

struct ForeignBp::State {
  std::string path;
  std::recursive_mutex mutex;         // one thread at a time
  std::optional<adios2::ADIOS> adios; // without MPI
  adios2::IO io;
  adios2::Engine engine;
  bool asked = false;                                      // ADIOS2 for values, which it has not given
  std::map<std::string, std::vector<std::size_t>> held_in; // the steps that hold a variable, increasing

  explicit State(const std::string &where) : path(where) {
    const EngineTurn turn(true);
    open();
  }
  ~State() {
    const EngineTurn turn(true);
    drop();
  }

  void open() {
    const int version = bp::version(path);
    if (version == 0 || !bp::has_steps(path))
      throw IoError(fmt::format("cannot open {}: expected a BP4 or BP5 directory with a step, found {}", path,
                                version == 0 ? "no index md.idx of one" : "none"));
    translate(fmt::format("open {}", path), [&] {
      adios.emplace();
      io = adios->DeclareIO("foreign");
      io.SetEngine(fmt::format("BP{}", version));
      engine = io.Open(path, adios2::Mode::ReadRandomAccess);
    });
  }

  void drop() { // without a Close, which would leave a profile in /tmp, and may fail
    engine = {};
    io = {};
    held_in.clear();
    adios.reset();
  }

  /// Runs `work` in this thread alone. After a read that failed, ADIOS2 keeps what it was asked for, and would read it
  /// with the next one, into memory that may be of something else by then: the next use opens the file again.
  template <class Work> auto attempt(const std::string &what, Work work) {
    const std::lock_guard lock(mutex);
    const EngineTurn turn(true);
    if (!engine)
      open();
    try {
      return translate(what, work);
    } catch (const Error &) {
      if (std::exchange(asked, false))
        drop();
      throw;
    }
  }

  template <class T> void get(adios2::Variable<T> &variable, T *data) {
    asked = true;
    engine.Get(variable, data, adios2::Mode::Sync);
    asked = false;
  }

  /// The place of `step` among the steps that hold the variable, which alone ADIOS2 counts. Selects it.
  template <class T> std::optional<std::size_t> select(adios2::Variable<T> &variable, std::size_t step) {
    if (!variable)
      return std::nullopt;
    const auto [place_of, added] = held_in.try_emplace(variable.Name());
    auto &held = place_of->second;
    if (added)
      held = engine.GetAbsoluteSteps(variable);
    const auto found = std::lower_bound(held.begin(), held.end(), step);
    if (found == held.end() || *found != step)
      return std::nullopt;
    const auto place = static_cast<std::size_t>(found - held.begin());
    variable.SetStepSelection({place, 1});
    // BP4 expects the number of the step in the file.
    return engine.Type() == "BP4Reader" ? step : place;
  }

  template <class T> std::optional<ForeignVariable> describe(const std::string &name, std::size_t step) {
    auto variable = io.InquireVariable<T>(name);
    const auto place = select(variable, step);
    if (!place)
      return std::nullopt;
    ForeignVariable found{name, numpy_name<T>(), {}, {}};
    if (variable.ShapeID() == adios2::ShapeID::LocalArray)
      for (const auto &block : engine.BlocksInfo(variable, *place))
        found.blocks.push_back(extents(block.Count));
    else if (variable.ShapeID() != adios2::ShapeID::GlobalValue)
      found.shape = extents(variable.Shape(*place));
    else if constexpr (!std::is_same_v<T, std::string>)
      // BP4 takes blocks for a single value, 0, where the first one is empty.
      for (const auto &block : engine.BlocksInfo(variable, *place))
        if (!block.IsValue)
          found.type = numpy_name<T>() + " in blocks of which the first is empty";
    return found;
  }

  std::optional<ForeignVariable> describe(const std::string &name, std::size_t step) {
    const std::string type = io.VariableType(name);
    std::optional<ForeignVariable> found;
    if (!type.empty() && !with_named(type, [&]<class T>(T) { found = describe<T>(name, step); }))
      return ForeignVariable{name, type, {}, {}};
    return found;
  }

  ForeignVariable known(const std::string &name, std::size_t step) {
    const auto found = describe(name, step);
    if (!found)
      throw InputError(fmt::format("{}: there is no variable '{}' in step {}", path, name, step));
    return *found;
  }

  template <class T> void read(const Part &part, bool block, std::size_t step, void *data) {
    auto variable = io.InquireVariable<T>(part.name);
    const auto place = select(variable, step);
    if (block)
      variable.SetBlockSelection(part.block);
    else if (place && variable.ShapeID() == adios2::ShapeID::GlobalArray)
      check_covered(part, engine.BlocksInfo(variable, *place));
    variable.SetSelection(
        {adios2::Dims(part.start.begin(), part.start.end()), adios2::Dims(part.count.begin(), part.count.end())});
    get(variable, static_cast<T *>(data));
  }

  /// ADIOS2 leaves memory as it is where no process has written. Blocks without extents are single values.
  template <class Info> void check_covered(const Part &part, const std::vector<Info> &infos) const {
    std::vector<Reach> blocks;
    for (const auto &info : infos) {
      if (info.Start.size() != part.start.size() || info.Count.size() != part.start.size())
        return;
      blocks.push_back({extents(info.Start), extents(info.Start)});
      for (std::size_t d = 0; d < part.start.size(); ++d)
        blocks.back().end[d] += static_cast<std::int64_t>(info.Count[d]);
    }
    Reach wanted{part.start, part.start};
    for (std::size_t d = 0; d < part.start.size(); ++d)
      wanted.end[d] += part.count[d];
    const auto missing = uncovered(wanted, blocks);
    if (!missing)
      return;
    Extents count = missing->end;
    for (std::size_t d = 0; d < count.size(); ++d)
      count[d] -= missing->start[d];
    throw IoError(fmt::format("{}: '{}' was not written at ({}), count ({}), slowest index first, so it has no values "
                              "there; read other parts of it",
                              path, part.name, fmt::join(missing->start, ", "), fmt::join(count, ", ")));
  }

  template <class T> void check_ends(const std::string &name, std::size_t step, std::size_t &left) {
    auto variable = io.InquireVariable<T>(name);
    const auto place = select(variable, step);
    const bool local = place && variable.ShapeID() == adios2::ShapeID::LocalArray;
    if (!place || (!local && variable.ShapeID() != adios2::ShapeID::GlobalArray))
      return;
    const auto blocks = engine.BlocksInfo(variable, *place);
    for (std::size_t b = 0; b < blocks.size() && left > 0; ++b, --left) {
      adios2::Dims last = blocks[b].Count, one(last.size(), 1);
      if (last.empty() || std::find(last.begin(), last.end(), 0) != last.end())
        continue;
      for (std::size_t d = 0; d < last.size(); ++d)
        last[d] += (local ? 0 : blocks[b].Start[d]) - 1;
      if (local)
        variable.SetBlockSelection(b);
      variable.SetSelection({last, one});
      T value{};
      get(variable, &value);
    }
  }
};

ForeignBp::ForeignBp(const std::string &path) : state_(std::make_unique<State>(path)) {}
ForeignBp::~ForeignBp() = default;

std::size_t ForeignBp::steps() const {
  return state_->attempt(fmt::format("read {}", state_->path), [&] { return state_->engine.Steps(); });
}

Attributes ForeignBp::attributes() const {
  Attributes result;
  state_->attempt(fmt::format("read attributes of {}", state_->path), [&] {
    for (const auto &[name, about] : state_->io.AvailableAttributes())
      if (auto found = attribute_in(state_->io, name))
        result[name] = std::move(*found);
  });
  return result;
}

std::vector<Attributes> ForeignBp::attributes_in_steps(const std::vector<std::string> &names) const {
  std::vector<Attributes> result;
  state_->attempt(fmt::format("read attributes of the steps of {}", state_->path), [&] {
    adios2::IO io = state_->adios->DeclareIO("steps");
    io.SetEngine(fmt::format("BP{}", bp::version(state_->path)));
    adios2::Engine engine = io.Open(state_->path, adios2::Mode::Read);
    while (result.size() < state_->engine.Steps() &&
           engine.BeginStep(adios2::StepMode::Read, 0) == adios2::StepStatus::OK) {
      result.emplace_back();
      for (const std::string &name : names)
        if (auto found = attribute_in(io, name))
          result.back()[name] = std::move(*found);
      engine.EndStep();
    }
    state_->adios->RemoveIO("steps");
  });
  return result;
}

std::vector<std::string> ForeignBp::left_out_attributes() const {
  const Attributes known = attributes();
  std::vector<std::string> result;
  state_->attempt(fmt::format("read attributes of {}", state_->path), [&] {
    for (const auto &[name, about] : state_->io.AvailableAttributes())
      if (!known.contains(name))
        result.push_back(name);
  });
  return result;
}

std::vector<ForeignVariable> ForeignBp::variables(std::size_t step) {
  std::vector<ForeignVariable> result;
  state_->attempt(fmt::format("read the variables of {}", state_->path), [&] {
    for (const auto &[name, about] : state_->io.AvailableVariables(true))
      if (const auto found = state_->describe(name, step))
        result.push_back(*found);
  });
  return result;
}

Scalar ForeignBp::value(std::size_t step, const std::string &name) {
  Scalar result;
  state_->attempt(fmt::format("read '{}' in step {} of {}", name, step, state_->path), [&] {
    const ForeignVariable found = state_->known(name, step);
    const bool read = with_named(state_->io.VariableType(name), [&]<class T>(T) {
      if (!found.shape.empty() || !found.blocks.empty())
        throw InputError(fmt::format("{}: '{}' is an array", state_->path, name));
      auto variable = state_->io.InquireVariable<T>(name);
      state_->select(variable, step);
      T value{};
      state_->get(variable, &value);
      if (!fits(value))
        throw IoError(fmt::format("{}: '{}' is {} in step {}; expected a value below 2^63, the first that an int64 "
                                  "does not hold",
                                  state_->path, name, value, step));
      if constexpr (std::is_same_v<T, std::string>)
        result = value;
      else if constexpr (std::is_integral_v<T>)
        result = static_cast<std::int64_t>(value);
      else
        result = static_cast<double>(value);
    });
    if (!read)
      throw InputError(fmt::format("{}: '{}' has the type {}, which is not read", state_->path, name, found.type));
  });
  return result;
}

void ForeignBp::read(std::size_t step, const Part &part, void *data) {
  state_->attempt(fmt::format("read '{}' in step {} of {}", part.name, step, state_->path), [&] {
    const ForeignVariable found = state_->known(part.name, step);
    const bool block = !found.blocks.empty();
    if (block && part.block >= found.blocks.size())
      throw InputError(fmt::format("{}: '{}' has {} blocks in step {}, no number {}", state_->path, part.name,
                                   found.blocks.size(), step, part.block));
    const Extents &shape = block ? found.blocks[part.block] : found.shape;
    if (shape.empty() || !inside(part.start, part.count, shape) || part.type != found.type)
      throw InputError(fmt::format("{}: '{}' in step {} is {} of shape ({}); asked for were {} at ({}), count ({})",
                                   state_->path, part.name, step, found.type, fmt::join(shape, ", "), part.type,
                                   fmt::join(part.start, ", "), fmt::join(part.count, ", ")));
    if (std::find(part.count.begin(), part.count.end(), 0) == part.count.end())
      with_named(state_->io.VariableType(part.name), [&]<class T>(T) { state_->read<T>(part, block, step, data); });
  });
}

void ForeignBp::check_values(std::size_t step, std::size_t most) {
  state_->attempt(fmt::format("read values in step {} of {}", step, state_->path), [&] {
    for (const auto &[name, about] : state_->io.AvailableVariables(true))
      with_named(state_->io.VariableType(name),
                 [&, &key = name]<class T>(T) { state_->check_ends<T>(key, step, most); });
  });
}

} // namespace tailrace::io

#endif
