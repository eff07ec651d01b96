// Series of the engines raw, mpiio and sion: their sidecar, series.jsonl, and the files that it names.

#include "files.hpp"
#include <tailrace/io/recognition.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <sstream>

using namespace tailrace;
using namespace tailrace::io;

namespace {

/// The lines with a checksum each; a line that has one, right or wrong, as it is.
std::string checked(const std::string &text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += (line.starts_with("[\"") ? line : fmt::format("[\"{}\",{}]", fuzz::checksum(line), line)) + "\n";
  return result;
}

/// The whole, or two ends of a variable that promises more values than a case may take.
void read_variable(const Series &series, std::size_t step, const VariableInfo &variable) {
  const std::int64_t size = product(variable.shape);
  std::vector<double> values(static_cast<std::size_t>(std::clamp<std::int64_t>(size, 1, fuzz::most_values)));
  std::vector<Box> boxes{{{0, 0, 0}, variable.shape}};
  if (size > fuzz::most_values)
    boxes = {{{0, 0, 0}, {1, 1, 1}},
             {{variable.shape[0] - 1, variable.shape[1] - 1, variable.shape[2] - 1}, {1, 1, 1}}};
  for (const Box &box : boxes)
    try {
      if (is_integer(variable.type))
        series.read(step, variable.name, variable.type, box, values.data());
      else
        series.read(step, variable.name, box, values.data());
    } catch (const Error &) {
    }
}

void read_all(const std::string &path) {
  Series series(path, Mode::read, Communicator(MPI_COMM_SELF));
  series.files();
  series.grid();
  series.attributes();
  series.damage();
  series.notes();
  for (std::size_t step = 0; step < std::min<std::size_t>(series.steps().size(), 8); ++step)
    try {
      series.scalars(step);
      series.unchecked(step);
      std::int64_t values = 0;
      const auto variables = series.variables(step);
      for (std::size_t v = 0; v < std::min<std::size_t>(variables.size(), 8); ++v) {
        read_variable(series, step, variables[v]);
        values = std::max(values, product(variables[v].shape));
      }
      if (values <= fuzz::most_values)
        series.verify(step);
    } catch (const Error &) {
    }
}

void append(const std::string &path) {
  Options options;
  options.rewind_to = 1;
  Series series(path, Mode::append, Communicator(MPI_COMM_SELF), options);
  const double value = 1;
  series.begin_step(series.last_index().value_or(0) + 1, 0.5);
  series.write("added", &value, {{1, 1, 1}, {{0, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}});
  series.end_step();
  series.close();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  auto files = fuzz::unpack(data, size);
  for (auto &file : files)
    if (file.name == "series.jsonl")
      file.bytes = checked(file.bytes);
  const fuzz::Folder folder(files);
  const std::string path = folder.path("");
  const std::string engine = engine_at(path);
  if (engine != "raw" && engine != "mpiio" && engine != "sion")
    return -1; // not ours to read
  for (const auto work : {read_all, append, read_all})
    try {
      work(path);
    } catch (const Error &) {
    }
  return 0;
}
