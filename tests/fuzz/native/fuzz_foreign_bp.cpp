// BP directories of other programs, which ADIOS2 has written: any blocks, shapes, types, texts and attributes.

#include "files.hpp"
#include <tailrace/io/adios2/foreign_bp.hpp>
#include <tailrace/support/error.hpp>

#include <adios2.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;

namespace {

const std::vector<std::string> names{"u", "v", "w"};
constexpr std::size_t most_extent = 5;

template <class T> T value_from(FuzzedDataProvider &bytes) {
  if constexpr (std::is_same_v<T, std::string>)
    return bytes.ConsumeRandomLengthString(8);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(bytes.ConsumeFloatingPoint<double>());
  else
    return bytes.ConsumeIntegral<T>();
}

/// Calls `work` with a value of one of the types.
template <class Work> void with_some_type(FuzzedDataProvider &bytes, Work work) {
  switch (bytes.ConsumeIntegralInRange(0, 9)) {
  case 0:
    return work(float{});
  case 1:
    return work(std::int8_t{});
  case 2:
    return work(std::int32_t{});
  case 3:
    return work(std::int64_t{});
  case 4:
    return work(std::uint8_t{});
  case 5:
    return work(std::uint16_t{});
  case 6:
    return work(std::uint64_t{});
  case 7:
    return work(std::string{});
  default:
    return work(double{});
  }
}

/// A variable of one type is global, local, of a constant shape, or a single value.
template <class T> void define(adios2::IO &io, FuzzedDataProvider &bytes, const std::string &name) {
  const int kind = std::is_same_v<T, std::string> ? 0 : bytes.ConsumeIntegralInRange(0, 3);
  adios2::Dims shape(kind == 0 ? 0 : bytes.ConsumeIntegralInRange<std::size_t>(1, 3));
  for (auto &extent : shape)
    extent = bytes.ConsumeIntegralInRange<std::size_t>(0, most_extent);
  if (kind == 0)
    io.DefineVariable<T>(name);
  else if (kind == 1)
    io.DefineVariable<T>(name, {}, {}, shape);
  else
    io.DefineVariable<T>(name, shape, adios2::Dims(shape.size(), 0), shape, kind == 3);
}

/// Writes some blocks, which may overlap and leave gaps.
template <class T>
void put(adios2::IO &io, adios2::Engine &engine, FuzzedDataProvider &bytes, const std::string &name) {
  auto variable = io.InquireVariable<T>(name);
  const bool local = variable.ShapeID() == adios2::ShapeID::LocalArray;
  const adios2::Dims whole = local ? variable.Count() : variable.Shape();
  for (int block = bytes.ConsumeIntegralInRange(0, 3); block > 0; --block) {
    adios2::Dims start(whole.size()), count(whole.size());
    std::size_t size = 1;
    for (std::size_t d = 0; d < whole.size(); ++d) {
      start[d] = bytes.ConsumeIntegralInRange<std::size_t>(0, local ? 0 : whole[d]);
      count[d] = bytes.ConsumeIntegralInRange<std::size_t>(0, local ? most_extent : whole[d] - start[d]);
      size *= count[d];
    }
    if (!whole.empty())
      variable.SetSelection({local ? adios2::Dims() : start, count}); // an error where the shape is constant
    const std::vector<T> values(std::max<std::size_t>(size, 1), value_from<T>(bytes));
    engine.Put(variable, values.data(), adios2::Mode::Sync);
  }
}

void write(const std::string &path, FuzzedDataProvider &bytes) {
  adios2::ADIOS adios;
  adios2::IO io = adios.DeclareIO("out");
  io.SetEngine(bytes.ConsumeBool() ? "BP4" : "BP5");
  io.SetParameter("Profile", "off");
  for (const auto &name : names)
    with_some_type(bytes, [&]<class T>(T) { define<T>(io, bytes, name); });
  auto number = io.DefineVariable<std::int64_t>("number"); // ADIOS2 itself fails to open BP4 with an empty step
  for (int attributes = bytes.ConsumeIntegralInRange(0, 3); attributes > 0; --attributes)
    with_some_type(bytes, [&]<class T>(T) {
      const std::vector<T> values(bytes.ConsumeIntegralInRange<std::size_t>(1, 3), value_from<T>(bytes));
      io.DefineAttribute<T>("a" + std::to_string(attributes), values.data(), values.size());
    });
  adios2::Engine engine = io.Open(path, adios2::Mode::Write);
  for (int step = bytes.ConsumeIntegralInRange(0, 3); step > 0; --step) {
    engine.BeginStep();
    engine.Put(number, std::int64_t{step}, adios2::Mode::Sync);
    for (const auto &name : names) {
      const std::string type = io.VariableType(name);
      const auto try_one = [&]<class T>(T) {
        if (type == adios2::GetType<T>())
          put<T>(io, engine, bytes, name);
      };
      [&]<class... T>(T... zeros) { (try_one(zeros), ...); }(float{}, double{}, std::int8_t{}, std::int32_t{},
                                                             std::int64_t{}, std::uint8_t{}, std::uint16_t{},
                                                             std::uint64_t{}, std::string{});
    }
    engine.EndStep();
  }
  engine.Close();
}

void read_part(ForeignBp &file, std::size_t step, const ForeignVariable &variable,
               const ForeignVariable::Extents &shape, std::size_t block) {
  std::int64_t size = 1;
  for (const auto extent : shape)
    size *= extent;
  std::vector<double> values(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
  file.read(step, {variable.name, block, ForeignVariable::Extents(shape.size(), 0), shape, variable.type},
            values.data());
}

void allow_errors(const auto &work) {
  try {
    work();
  } catch (const Error &) {
  }
}

void read_all(const std::string &path) {
  ForeignBp file(path);
  file.attributes();
  file.left_out_attributes();
  for (std::size_t step = 0; step < file.steps(); ++step) {
    for (const auto &variable : file.variables(step)) {
      allow_errors([&] { file.value(step, variable.name); });
      if (!variable.shape.empty())
        allow_errors([&] { read_part(file, step, variable, variable.shape, 0); });
      for (std::size_t block = 0; block < variable.blocks.size(); ++block)
        allow_errors([&] { read_part(file, step, variable, variable.blocks[block], block); });
    }
    allow_errors([&] { file.check_values(step, 100); });
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const fuzz::Folder folder({});
  const std::string path = folder.path("x.bp");
  FuzzedDataProvider bytes(data, size);
  try {
    write(path, bytes);
  } catch (const std::exception &) { // ADIOS2 writes no such file
    return -1;
  }
  allow_errors([&] { read_all(path); });
  return 0;
}
