#include <tailrace/io/adios2/session.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/support/guarded_call.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace tailrace::io {

namespace fs = std::filesystem;

namespace {

// This list leaves out the parameters that would change which steps a series has (AppendAfterSteps, which rewind_to
// sets, SelectSteps, FlattenSteps, StreamReader, FlushStepsCount, CollectiveMetadata) or its place (S3..., Remote...).
const std::vector<std::string> bp5_parameters{"OpenTimeoutSecs",
                                              "BeginStepPollingFrequencySecs",
                                              "AggregationType",
                                              "NumAggregators",
                                              "AggregatorRatio",
                                              "NumSubFiles",
                                              "StripeSize",
                                              "MaxShmSize",
                                              "UseSelectiveMetadataAggregation",
                                              "OneLevelGatherRanksLimit",
                                              "BufferVType",
                                              "BufferChunkSize",
                                              "MinDeferredSize",
                                              "InitialBufferSize",
                                              "GrowthFactor",
                                              "AsyncOpen",
                                              "AsyncWrite",
                                              "DirectIO",
                                              "DirectIOAlignOffset",
                                              "DirectIOAlignBuffer",
                                              "StatsLevel",
                                              "MaxOpenFilesAtOnce",
                                              "Threads",
                                              "MetadataThreads",
                                              "EnableWriterRerouting",
                                              "ReroutingThresholdFactor",
                                              "UseOneTimeAttributes",
                                              "ReaderShortCircuitReads",
                                              "BurstBufferPath",
                                              "BurstBufferDrain",
                                              "NodeLocal",
                                              "verbose"};
const std::vector<std::string> bp4_parameters{"OpenTimeoutSecs",  "BeginStepPollingFrequencySecs",
                                              "NumAggregators",   "SubStreams",
                                              "AggregatorRatio",  "InitialBufferSize",
                                              "MaxBufferSize",    "BufferGrowthFactor",
                                              "StatsLevel",       "StatsBlockSize",
                                              "Threads",          "AsyncOpen",
                                              "Profile",          "ProfileUnits",
                                              "NodeLocal",        "BurstBufferPath",
                                              "BurstBufferDrain", "BurstBufferVerbose",
                                              "Verbose"};
const std::vector<std::string> hdf5_parameters{"H5CollectiveMPIO", "H5ChunkDim", "H5ChunkVars", "IdleH5Writer"};

struct Kind {
  std::string engine; ///< as ADIOS2 spells it
  const std::vector<std::string> &parameters;
};

const Kind &kind_named(const std::string &kind) {
  static const std::map<std::string, Kind> kinds{
      {"bp4", {"BP4", bp4_parameters}}, {"bp5", {"BP5", bp5_parameters}}, {"adios_hdf5", {"HDF5", hdf5_parameters}}};
  return kinds.at(kind);
}

/// Creates the IO that the configuration file has for the series, or else an IO that is not in the file.
adios2::IO declare(adios2::ADIOS &adios, const std::string &path) {
  fs::path place(path);
  if (!place.has_filename()) // the path ends in a slash
    place = place.parent_path();
  const std::string name = place.stem().string(), fallback = "tailrace";
  adios2::IO io = adios.DeclareIO(name);
  if (io.InConfigFile() || name == fallback)
    return io;
  return adios.DeclareIO(fallback);
}

void check_config(const Adios2Options &options, const std::string &path) {
  const std::string &file = options.config;
  const std::string suffix = lower_case(fs::path(file).extension().string());
  if (suffix != ".xml" && suffix != ".yaml" && suffix != ".yml") // ADIOS2 would ignore the file without an error
    throw InputError(fmt::format(
        "parameter config = '{}': expected a configuration of ADIOS2, a file that ends in .xml or .yaml", file));
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored))
    throw InputError(fmt::format("parameter config = '{}': there is no such file in {}", file,
                                 fs::absolute(file).parent_path().string()));
  std::string found;
  try {
    adios2::ADIOS alone(file, MPI_COMM_SELF);
    found = declare(alone, path).EngineType();
  } catch (const std::exception &error) {
    throw InputError(
        fmt::format("parameter config = '{}': ADIOS2 cannot read it: {}", file, plain_words(error.what())));
  }
  const std::string &ours = kind_named(options.kind).engine;
  const std::vector<std::string> general{"", "file", "bpfile", "bp", "filestream"};
  if (lower_case(found) != lower_case(ours) &&
      std::find(general.begin(), general.end(), lower_case(found)) == general.end())
    throw InputError(fmt::format("parameter config = '{}': it gives {} the engine {}, and the series has the engine {} "
                                 "({}). Name the same engine in both, or none in the configuration",
                                 file, path, found, options.kind, ours));
}

} // namespace

std::string plain_words(const std::string &text) {
  constexpr std::string_view heading = "[ADIOS2 EXCEPTION]";
  std::string result;
  bool blank = true, colour = false;
  for (const char c : text) {
    if (c == '\033')
      colour = true;
    else if (colour)
      colour = c != 'm';
    else if (!std::isspace(static_cast<unsigned char>(c)) || !blank)
      result += std::isspace(static_cast<unsigned char>(c)) ? ' ' : c,
          blank = std::isspace(static_cast<unsigned char>(c));
  }
  if (const auto at = result.find(heading); at != std::string::npos)
    result.erase(0, std::min(result.size(), at + heading.size() + 1));
  while (!result.empty() && result.back() == ' ')
    result.pop_back();
  return result;
}

void throw_plain(const std::string &what, const std::string &words) {
  constexpr std::string_view before = "ADIOS2 didn't compile with ", behind = " library";
  const auto begin = words.find(before), end = words.find(behind, begin);
  if (begin == std::string::npos || end == std::string::npos)
    throw IoError(fmt::format("cannot {}: {}", what, words));
  throw InputError(
      fmt::format("cannot {}: its values are packed by {}, without which the ADIOS2 of Tailrace was built; "
                  "they are not damaged. To fix this, write them without this operator",
                  what, words.substr(begin + before.size(), end - begin - before.size())));
}

Adios2Options adios2_options(const std::string &kind, const std::string &path, Parameters &parameters) {
  Adios2Options options;
  options.kind = kind;
  options.engine = parameters.pass_through(kind_named(kind).parameters);
  options.config = parameters.text("config", "");
  options.failure_timeout = static_cast<double>(parameters.number("failure_timeout", failure_timeout_default, 1));
  if (kind != "adios_hdf5") // ADIOS2's HDF5 engine ignores operators
    options.operation = take_operator(parameters);
  parameters.finish(kind);
  if (kind == "bp4" && options.operation.type == "null")
    throw InputError(
        "parameter operator = 'null': ADIOS2 cannot read back what its BP4 wrote so; leave it out, or use bp5");
  if (!options.config.empty())
    check_config(options, path);
  return options;
}

Adios2Io::Adios2Io(const Adios2Options &options, const std::string &path, MPI_Comm comm)
    : adios_(options.config.empty() ? adios2::ADIOS(comm) : adios2::ADIOS(options.config, comm)),
      io_(declare(adios_, path)) {
  io_.SetEngine(kind_named(options.kind).engine);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  for (const auto &[name, value] : options.engine)
    if (ranks > 1 || name != "H5CollectiveMPIO") // on one rank it opens the file without MPI and cannot write to it
      set(name, value);
}

void Adios2Io::set_default(const std::string &parameter, const std::string &value) {
  if (!has(parameter))
    set(parameter, value);
}

/// ADIOS2 would keep both spellings of a name and use either.
void Adios2Io::set(const std::string &parameter, const std::string &value) {
  const std::string known = spelling(parameter);
  io_.SetParameter(known.empty() ? parameter : known, value);
}

std::string Adios2Io::value(const std::string &parameter) const {
  const std::string known = spelling(parameter);
  return known.empty() ? "" : io_.Parameters().at(known);
}

bool Adios2Io::has(const std::string &parameter) const { return !spelling(parameter).empty(); }

std::string Adios2Io::spelling(const std::string &parameter) const {
  for (const auto &[name, value] : io_.Parameters())
    if (lower_case(name) == lower_case(parameter))
      return name;
  return {};
}

} // namespace tailrace::io

#endif
