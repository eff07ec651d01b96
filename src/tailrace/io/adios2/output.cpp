#include <tailrace/io/adios2/output.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/xdmf.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tailrace::io::bp {

using nlohmann::json;

void Output::begin_step() { lists_.clear(); }

/// The variable as earlier steps have defined it; an empty one if this program has none of its name. Throws InputError
/// if it is something else in an earlier step, also of another program: ADIOS2 cannot open a file with both.
template <class T> adios2::Variable<T> Output::known(const std::string &name, bool array) {
  const std::string kind = kind_of(array, adios2::GetType<T>());
  const auto [place, added] = kinds_.try_emplace(name, kind);
  if (place->second != kind)
    throw InputError(
        fmt::format("{}: is {} here, and was {} in an earlier step; ADIOS2 keeps the type of a name. To fix "
                    "this, use another name, or the same type in all steps",
                    name, kind, place->second));
  return io_.InquireVariable<T>(name);
}

template <class T> adios2::Variable<T> Output::single(const std::string &name) {
  auto found = known<T>(name, false);
  return found ? found : io_.DefineVariable<T>(name);
}

template <class T> adios2::Variable<T> Output::grid_variable(const Block &block) {
  const adios2::Dims shape = dims(block.place.shape);
  if (auto found = known<T>(block.name, true)) {
    found.SetShape(shape);
    return found;
  }
  auto variable = io_.DefineVariable<T>(block.name, shape, adios2::Dims(3, 0), adios2::Dims(3, 0));
  // Lists have no operator: compressors for grids do not compress them well, and fail on empty lists.
  if (!operation_.type.empty() && !block.list && std::is_floating_point_v<T>)
    variable.AddOperation(operation_.type, operation_.parameters);
  const auto operations = variable.Operations(); // includes those of a configuration file
  if (operations.empty())
    return variable;
  operators_[block.name] = Adios2Operator{operations.front().Type(), operations.front().Parameters()}.describe();
  for (const auto &operation : operations)
    if (!is_lossless(operation.Type()))
      lossy_.insert(block.name);
  return variable;
}

/// Copies the block without its ghost points into ADIOS2's buffer. Copies one piece at a time, so that the checksum
/// reads the piece from the cache.
template <class T> void Output::put_span(adios2::Engine &engine, adios2::Variable<T> &variable, const Block &block) {
  const auto span = engine.Put(variable);
  T *target = span.data();
  for (const Box &piece : pieces_of(block.place.block, piece_bytes / static_cast<std::int64_t>(sizeof(T)))) {
    grid::pack(piece, block.place.memory, static_cast<const T *>(block.data), target);
    if (block.checksum)
      block.checksum->add(target, static_cast<std::size_t>(piece.size()) * sizeof(T));
    target += piece.size();
  }
}

template <class T> void Output::put_as(adios2::Engine &engine, const Block &block, bool in_place) {
  const auto &[shape, part, memory] = block.place;
  auto variable = grid_variable<T>(block);
  variable.SetMemorySelection({{}, {}});
  if (part.empty()) {
    const T nothing{};
    variable.SetSelection({adios2::Dims(3, 0), adios2::Dims(3, 0)});
    if (everyone_ && product(shape) > 0)
      engine.Put(variable, &nothing, adios2::Mode::Sync);
    return;
  }
  variable.SetSelection({dims(part.start), dims(part.count)});
  const bool operated = operators_.count(block.name) > 0;
  if (!(memory == part) && in_place && !operated)
    return put_span(engine, variable, block);
  if (block.checksum)
    add_block(*block.checksum, block.place, size_of(block.type), block.data);
  if (!(memory == part)) {
    const Index3 inside{part.start[0] - memory.start[0], part.start[1] - memory.start[1],
                        part.start[2] - memory.start[2]};
    variable.SetMemorySelection({dims(inside), dims(memory.count)});
  }
  engine.Put(variable, static_cast<const T *>(block.data), in_place ? adios2::Mode::Deferred : adios2::Mode::Sync);
}

void Output::put(adios2::Engine &engine, const Block &block, bool in_place) {
  with_type(block.type, [&]<class T>(T) { put_as<T>(engine, block, in_place); });
  if (block.list)
    lists_.push_back({block.name, block.type, block.place.shape, true});
  else if (is_drawn(block.type) && size_of(block.type) >= 4) // VTK's readers of BP fail on other types
    shapes_[block.name] = block.place.shape;
}

/// A text of BP4 has at most 65535 bytes: a longer one makes the whole directory unreadable. So it is put in parts.
void Output::put_text(adios2::Engine &engine, const std::string &name, const std::string &text, bool root) {
  for (std::size_t part = 0; part == 0 || part * most_text < text.size(); ++part) {
    auto variable = single<std::string>(name_of_part(name, part));
    if (root)
      engine.Put(variable, text.substr(part * most_text, most_text), adios2::Mode::Sync);
  }
}

void Output::put_value(adios2::Engine &engine, const std::string &name, const Scalar &value, bool root) {
  std::visit(
      [&]<class T>(const T &number) {
        auto variable = single<T>(name);
        if (root)
          engine.Put(variable, number, adios2::Mode::Sync);
      },
      value);
}

/// Drops the checksums of variables with a lossy operator: their values differ after reading.
std::string Output::checksums_of_lossless(const StepMetadata &metadata) const {
  if (lossy_.empty())
    return metadata.checksums();
  StepMetadata rest = metadata;
  for (const auto &name : lossy_)
    if (rest.blocks)
      rest.blocks->erase(name);
  return rest.checksums();
}

void Output::end_step(adios2::Engine &engine, const StepInfo &step, const StepMetadata &metadata, bool root) {
  put_value(engine, "step", step.index, root);
  put_value(engine, "time", step.time, root);
  if (root) // the other ranks have no scalars
    for (const auto &[name, value] : metadata.scalars)
      put_value(engine, name, value, true);
  if (metadata.blocks)
    put_text(engine, checksums_name, checksums_of_lossless(metadata), root);
  if (!lists_.empty()) // ADIOS2 does not store a variable without values
    put_text(engine, lists_name, valid_json_text(lists_to_json(lists_)), root);
}

void Output::define_attributes(const Attributes &attributes, const std::optional<GridDescription> &grid,
                               bool first_step) {
  write_attributes(io_, attributes);
  for (const auto &[name, operation] : operators_)
    io_.DefineAttribute<std::string>("operator", operation, name, "/", true);
  if (!first_step)
    return;
  if (grid)
    write_grid(io_, *grid);
  if (shapes_.empty() || (grid && grid->stretched())) // its readers know no stretched grids: all places would be wrong
    return;
  const GridDescription described = grid.value_or(GridDescription{shapes_.begin()->second, {0, 0, 0}, {1, 1, 1}});
  std::vector<std::string> names;
  for (const auto &[name, shape] : shapes_)
    if (shape == described.points)
      names.push_back(name);
  const std::string xml = vtk_image_xml(described, names);
  if (xml.size() <= most_text) // of a thousand variables; they are for ParaView only
    io_.DefineAttribute<std::string>("vtk.xml", xml, "", "/", true);
}

} // namespace tailrace::io::bp

#endif
