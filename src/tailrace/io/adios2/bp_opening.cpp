#include <tailrace/io/adios2/bp_opening.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/engine/series_changed.hpp>
#include <tailrace/io/engine/striping.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace tailrace::io::bp {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const char *verb(const OpenRequest &request) { return request.mode == Mode::read ? "read" : "append to"; }

void check_version(const std::string &kind, const OpenRequest &request) {
  const int found = version(request.path), ours = kind == "bp4" ? 4 : 5;
  if (found != 0 && found != ours)
    throw IoError(fmt::format("cannot {} {}: its md.idx is of version BP{}, and engine {} needs BP{}. To fix this, "
                              "name the engine bp{}, or none",
                              verb(request), request.path, found, kind, ours, found));
}

/// Opens the file and reads its steps. `sizes`: BP4, sizes of the data files without the steps that a rewind drops.
Found look(const std::string &kind, const OpenRequest &request, std::map<std::string, std::uintmax_t> &sizes) {
  Found found;
  translate("open " + request.path, [&] {
    adios2::ADIOS alone(MPI_COMM_SELF);
    adios2::IO io = alone.DeclareIO("probe");
    io.SetEngine(kind == "bp4" ? "BP4" : "BP5");
    adios2::Engine engine = io.Open(request.path, adios2::Mode::ReadRandomAccess, MPI_COMM_SELF);
    found.attributes = read_attributes(io);
    if (request.mode == Mode::append)
      found.kinds = kinds(io);
    HeldSteps held;
    for (const auto &[info, number] : steps(io, engine, held)) {
      if (request.rewind_to && info.index > *request.rewind_to) {
        if (const std::string before = kind == "bp4" ? text(io, engine, held, number, sizes_name) : ""; !before.empty())
          sizes = sizes_from_json(parse_json(before));
        break;
      }
      found.steps.push_back(info);
      found.numbers.push_back(number);
    }
    // Not closed, because BP5's reader would leave a profile in /tmp. The destructor of `alone` closes its files.
  });
  return found;
}

Found probe(const std::string &kind, const OpenRequest &request) {
  const std::string index = (fs::path(request.path) / "md.idx").string();
  if (!fs::exists(index))
    throw IoError(fmt::format("cannot {} {}: it holds no md.idx, so it is not a {} series", verb(request), request.path,
                              kind == "bp4" ? "BP4" : "BP5"));
  const BpRecorded recorded = check_bp_record(request.path);
  check_version(kind, request);
  std::map<std::string, std::uintmax_t> sizes;
  Found found;
  if (has_steps(request.path))
    found = look(kind, request, sizes);
  for (const auto &[name, value] : recorded.attributes)
    found.attributes[name] = value;
  if (request.mode == Mode::append)
    check_no_links(request.path);
  if (request.mode == Mode::append && found.counted() > 0) {
    const FileDescriptor writable(index, O_WRONLY); // or an error before anything is changed
    found.has_record = keep_bp_attributes(request.path, found.attributes, request.sync);
    if (kind == "bp4")
      cut_bp4(request.path, found.counted(), sizes);
    else
      found.data_files = cut_bp5(request.path, found.counted());
  }
  return found;
}

/// Looks at a series for a reader.
Found probe_to_read(const std::string &kind, const OpenRequest &request) {
  const BpView view(request.path);
  try {
    Found found = probe(kind, request);
    found.view = view;
    return found;
  } catch (const IoError &) {
    if (view.changed())
      throw series_changed(request.path);
    throw;
  }
}

/// The work of rank 0 in `prepare`.
Found prepare_alone(const std::string &kind, const OpenRequest &request) {
  check_target(request.path, request.mode, Kind::directory);
  bool there = fs::exists(request.path);
  if (request.mode == Mode::read)
    return probe_to_read(kind, request);
  Found found;
  if (request.mode == Mode::append && there && !is_empty_bp(request.path))
    found = probe(kind, request);
  if (!found.steps.empty())
    return found;
  if (there)
    check_only_bp(request.path);
  if (request.replaced && there && has_steps(request.path)) {
    request.replaced->set_aside();
    there = fs::exists(request.path);
  }
  remove_bp_record(request.path);
  ::unlink((fs::path(request.path) / "md.idx").c_str()); // first of all, see BpView
  if (!there && ::mkdir(request.path.c_str(), 0777) != 0 && errno != EEXIST)
    throw file_error("create", request.path, errno);
  if (const std::string said = apply_striping(request.striping, request.path, Kind::directory); !said.empty())
    request.notes->push_back(said);
  return found;
}

/// The number of a parameter; 0 if it is not set.
std::int64_t number(const Adios2Io &adios, const char *parameter) {
  return std::strtoll(adios.value(parameter).c_str(), nullptr, 10);
}

/// Limits the number of data files of BP5 to `most`.
void limit_data_files(Adios2Io &adios, const OpenRequest &request, std::int64_t most) {
  const Communicator &comm = request.comm, node = comm.split_node();
  const std::int64_t nodes = comm.sum(std::int64_t{node.rank() == 0}), ranks = comm.size();
  const std::int64_t files = number(adios, "NumSubFiles"), ratio = number(adios, "AggregatorRatio");
  const std::string type = lower_case(adios.value("AggregationType"));
  const bool each_its_file = type == "auto" || type.rfind("everyonewrites", 0) == 0;
  std::int64_t writers = number(adios, "NumAggregators");
  if (writers <= 0)
    writers = ratio > 0 ? ranks / ratio : files;
  writers = std::clamp(writers, writers > 0 && each_its_file ? 1 : nodes, ranks); // as ADIOS2 counts them
  const std::int64_t wanted = each_its_file || files <= 0 ? writers : std::min(files, writers);
  if (wanted <= most)
    return;
  adios.set("NumAggregators", std::to_string(each_its_file ? most : writers));
  adios.set("NumSubFiles", std::to_string(most));
  request.notes->push_back(fmt::format("appends to {} data files, not {}: ADIOS2 cannot append to more than the series "
                                       "has",
                                       most, wanted));
}

} // namespace

Found prepare(const std::string &kind, const OpenRequest &request) {
  const Communicator &comm = request.comm;
  Found found;
  std::string attributes, names;
  comm.agree([&] {
    if (comm.rank() != 0)
      return;
    found = prepare_alone(kind, request);
    attributes = json_text(attributes_to_json(found.attributes));
    names = valid_json_text(json(found.kinds));
  });
  found.steps = comm.broadcast(std::move(found.steps), 0);
  found.numbers = comm.broadcast(std::move(found.numbers), 0);
  found.data_files = comm.broadcast_value(found.data_files, 0);
  found.attributes = attributes_from_json(parse_json(comm.broadcast(attributes, 0)));
  found.kinds = parse_json(comm.broadcast(names, 0)).get<Kinds>();
  found.view = found.view.from_root(comm);
  return found;
}

bool choose_parameters(Adios2Io &adios, const std::string &kind, const OpenRequest &request, std::int64_t data_files) {
  constexpr int most_writers = 64;
  const bool bp4 = kind == "bp4", appends = data_files > 0;
  bool chosen = false;
  for (const char *name : {"NumAggregators", "AggregatorRatio", "NumSubFiles", "SubStreams", "AggregationType"})
    chosen = chosen || adios.has(name);
  const bool all_write = !chosen && request.comm.size() <= most_writers;
  if (all_write)
    adios.set_default("NumAggregators", std::to_string(request.comm.size()));
  adios.set_default("AsyncOpen", "false"); // with "true", a thread truncates the files later and its errors come late
  if (bp4) {
    adios.set_default("Profile", "off"); // otherwise BP4 leaves a profiling.json
    return all_write;
  }
  if (all_write)
    adios.set_default("AggregationType", "EveryoneWrites");
  adios.set_default("StatsLevel", "0");
  adios.set_default("MinDeferredSize", "1"); // we choose which arrays BP5 writes without a copy
  if (!appends)
    return all_write;
  limit_data_files(adios, request, data_files);
  // BP5 records which rank writes into which file, again only when the counts of both change. With this parameter it
  // does so in every step; otherwise the parameter is for DataSizeBased, which always does.
  if (lower_case(adios.value("AggregationType")) != "datasizebased")
    adios.set("EnableWriterRerouting", "true");
  return all_write && request.comm.size() <= data_files;
}

} // namespace tailrace::io::bp

#endif
