#include <tailrace/io/sidecar/engine.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/engine/series_changed.hpp>
#include <tailrace/io/sidecar/strangers.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <thread>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr int sidecar_version = 2;
constexpr int most_tries = 10; ///< of reading a step in a series that changes meanwhile
constexpr std::chrono::milliseconds between_tries{100};
constexpr const char *native_order = std::endian::native == std::endian::little ? "little" : "big";

json reversed(const Index3 &n) { return {n[2], n[1], n[0]}; }

Scalars scalars_of(const json &step) { return scalars_from_json(step.at("scalars")); }

VariableInfo variable_of(const json &described) {
  const auto &shape = described.at("shape");
  return {described.at("name"),
          type_named(described.at("type")),
          {shape.at(2), shape.at(1), shape.at(0)},
          described.contains("list")};
}

} // namespace

SidecarEngine::SidecarEngine(const OpenRequest &request, std::string name, std::string layout)
    : request_(request), name_(std::move(name)), layout_(std::move(layout)), log_(file("series.jsonl")) {}

std::string SidecarEngine::file(const std::string &name) const {
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string("/\0", 2)) != std::string::npos)
    throw IoError(fmt::format("cannot open {}: it names the file {}; expected a plain name in its directory",
                              request_.path, json_text(name)));
  return (std::filesystem::path(request_.path) / name).string();
}

void SidecarEngine::open() {
  request_.comm.agree([&] {
    if (request_.comm.rank() != 0)
      return;
    check_target(request_.path, request_.mode, Kind::directory);
    const bool there = std::filesystem::exists(log_.path());
    if (request_.mode == Mode::read || (request_.mode == Mode::append && there))
      load();
    else
      create();
    if (request_.rewind_to)
      rewind(*request_.rewind_to);
    if (request_.mode == Mode::append)
      publish_all();
  });
  share();
}

/// Sends what rank 0 read to all ranks: the header, and where the lines of the steps are.
void SidecarEngine::share() {
  header_ = json::parse(request_.comm.broadcast(header_.dump(), 0));
  attributes_ = json::parse(request_.comm.broadcast(attributes_.dump(), 0));
  damage_ = json::parse(request_.comm.broadcast(json_text(damage_), 0)).get<std::vector<std::string>>();
  entries_ = request_.comm.broadcast(std::move(entries_), 0);
}

SidecarEngine::Entry SidecarEngine::entry_of(const StepLog::Line &line) {
  return {{line.object.at("index"), line.object.at("time")}, line.offset, line.length, line.sum};
}

/// Throws IoError for a step that no writer of ours describes.
void SidecarEngine::check_step(const json &step) const {
  try {
    scalars_of(step);
    for (const auto &name : files(step))
      file(name);
    for (const auto &described : step.at("variables")) {
      const VariableInfo variable = variable_of(described);
      check_shape(variable.name, variable.shape, variable.list);
      check(described, variable);
    }
  } catch (const std::exception &error) {
    throw damaged(step, error);
  }
}

IoError SidecarEngine::damaged(const json &step, const std::exception &error) const {
  return IoError(
      fmt::format("cannot read {}: step {} is damaged ({})", log_.path(), step.at("index").dump(), error.what()));
}

void SidecarEngine::load() {
  const std::string &path = log_.path();
  if (!std::filesystem::exists(path))
    throw IoError(
        fmt::format("cannot read {}: it holds no series.jsonl, so it is not a {} series", request_.path, name_));
  const Span span(*request_.trace, Phase::read, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  const StepLog::Found found = log_.load();
  damage_ = found.damage;
  bool closed = false;
  try {
    if (found.lines.empty() || found.lines[0].offset != 0)
      throw IoError(fmt::format("cannot read {}: its first line, which describes the series, is damaged", path));
    header_ = found.lines[0].object;
    if (const std::string theirs = header_.at("format"), ours = fmt::format("tailrace {} series", name_);
        theirs != ours)
      throw IoError(fmt::format("cannot open {}: it is a '{}'; expected a '{}'. To fix this, name the other engine",
                                request_.path, theirs, ours));
    if (const int version = header_.at("version"); version != sidecar_version)
      throw IoError(fmt::format("cannot read {}: its version is {}; this program reads version {}", path, version,
                                sidecar_version));
    if (header_.at("byte_order") != native_order)
      throw IoError(fmt::format("cannot read {}: its files have the byte order of another machine", path));
    if (const auto told = grid())
      check_grid(*told);
    for (const auto &line : found.lines) {
      closed = line.object.contains("closed");
      if (line.object.contains("attributes"))
        attributes_ = line.object.at("attributes");
      if (!line.object.contains("index"))
        continue;
      entries_.push_back(entry_of(line));
      check_step(line.object);
    }
    attributes();
  } catch (const IoError &) {
    throw;
  } catch (const std::exception &error) { // of the JSON library, or an InputError
    throw IoError(
        fmt::format("cannot read {}: it is damaged or no description of a {} series ({})", path, name_, error.what()));
  }
  if (!damage_.empty() && request_.mode == Mode::append)
    throw IoError(fmt::format("cannot append to {}: {}. To fix this, append to a copy without that line", request_.path,
                              damage_[0]));
  if (!closed && request_.mode == Mode::read)
    request_.notes->push_back(
        "the series was not closed: it is still being written, its program was killed, or the end "
        "of series.jsonl is missing");
}

void SidecarEngine::create() {
  const std::vector<StepLog::Line> earlier = earlier_lines(log_);
  if (::mkdir(request_.path.c_str(), 0777) != 0 && errno != EEXIST)
    throw file_error("create", request_.path, errno);
  if (const std::string said = apply_striping(request_.striping, request_.path, Kind::directory); !said.empty())
    request_.notes->push_back(said);
  header_ = {{"format", fmt::format("tailrace {} series", name_)},
             {"version", sidecar_version},
             {"byte_order", native_order},
             {"axes", {"z", "y", "x"}},
             {"layout", layout_}};
  if (request_.grid)
    header_["grid"] = grid_to_json(*request_.grid);
  if (json names = strangers_in(request_.path, earlier); !names.empty())
    header_["strangers"] = std::move(names);
  if (xdmf_)
    refuse_stranger(header_, xdmf_->all_steps());
  log_.replace({header_}, request_.sync);                 // first: a listed file must exist
  for (const auto &[offset, length, sum, step] : earlier) // files of an earlier series only; all other files stay
    if (step.contains("index"))
      try {
        remove_files(step);
      } catch (const std::exception &) { // if the first line is damaged, the lines may be of another engine
      }
  if (xdmf_)
    xdmf_->clear();
  if (request_.sync)
    sync_parent(request_.path);
}

void SidecarEngine::rewind(std::int64_t last_index) {
  std::vector<json> kept{header_}, dropped;
  if (!attributes_.empty())
    kept.push_back({{"attributes", attributes_}});
  for (const auto &entry : entries_)
    (entry.info.index <= last_index ? kept : dropped).push_back(log_.read(entry.offset, entry.length, entry.sum));
  if (dropped.empty())
    return;
  entries_.clear();
  for (const auto &line : log_.replace(kept, request_.sync)) // replace the list first: a listed file must exist
    if (line.object.contains("index"))
      entries_.push_back(entry_of(line));
  for (const auto &step : dropped)
    remove_files(step);
}

void SidecarEngine::remove_files(const json &step) const {
  for (const auto &name : files(step))
    ::unlink(file(name).c_str());
}

std::vector<StepInfo> SidecarEngine::steps() const {
  std::vector<StepInfo> result;
  for (const auto &entry : entries_)
    result.push_back(entry.info);
  return result;
}

void SidecarEngine::begin_step(const StepInfo &step) {
  step_ = {{"index", step.index}, {"time", step.time}, {"variables", json::array()}};
  own_files_ = {};
  created_.clear();
}

FileDescriptor SidecarEngine::create_file(const std::string &path) {
  refuse_stranger(header_, path);
  FileDescriptor made(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
  created_.push_back(path);
  return made;
}

json &SidecarEngine::add_variable(const Block &block) {
  step_["variables"].push_back(
      {{"name", block.name}, {"type", name_of(block.type)}, {"shape", reversed(block.place.shape)}});
  if (block.list)
    step_["variables"].back()["list"] = true;
  return step_["variables"].back();
}

void SidecarEngine::end_step(const StepMetadata &metadata) {
  Entry entry{{step_.at("index"), step_.at("time")}, 0, 0, 0};
  request_.comm.agree([&] {
    own_files_.check();
    if (request_.comm.rank() != 0)
      return;
    step_["scalars"] = scalars_to_json(metadata.scalars);
    const json sums = metadata.checksums.empty() ? json::object() : json::parse(metadata.checksums);
    for (auto &variable : step_["variables"])
      if (const auto found = sums.find(variable.at("name").get<std::string>()); found != sums.end())
        variable["checksums"] = *found;
    publish_step();
    if (request_.sync)
      sync_path(request_.path);
    if (unsaved_)
      log_.append({{"attributes", attributes_}}, request_.sync);
    entry = entry_of(log_.append(step_, request_.sync)); // last, because this line makes the step complete
  });
  entries_.push_back(entry); // a writer reads no lines: only rank 0 knows their places
  step_ = json();            // closed: abandon_step has nothing to do
  created_.clear();
  unsaved_ = false;
}

void SidecarEngine::publish_step() {
  if (xdmf_)
    xdmf_->add(grid(), step_, [this](const std::string &path) { return create_file(path); });
}

void SidecarEngine::publish_all() {
  if (!xdmf_)
    return;
  xdmf_->clear();
  for (std::size_t step = 0; step < entries_.size(); ++step)
    xdmf_->add_to_series(grid(), line(step));
}

void SidecarEngine::abandon_step() noexcept {
  for (const auto &path : created_) // and no file of that name that was refused
    ::unlink(path.c_str());
  created_.clear();
  if (request_.comm.rank() == 0 && step_.contains("variables")) {
    try {
      publish_all();
    } catch (const std::exception &) { // for example a full disk; the next step writes the files again
    }
  }
  step_ = json();
}

void SidecarEngine::set_attributes(const Attributes &attributes) {
  attributes_ = attributes_to_json(attributes);
  unsaved_ = true;
}

Attributes SidecarEngine::attributes() const { return attributes_from_json(attributes_); }

void SidecarEngine::close() {
  request_.comm.agree([&] {
    if (request_.comm.rank() != 0 || request_.mode == Mode::read)
      return;
    if (unsaved_)
      log_.append({{"attributes", attributes_}}, request_.sync);
    log_.append({{"closed", true}}, request_.sync);
  });
  unsaved_ = false;
}

std::optional<GridDescription> SidecarEngine::grid() const {
  if (!header_.contains("grid"))
    return std::nullopt;
  return grid_from_json(header_.at("grid"));
}

const json &SidecarEngine::line(std::size_t step) const {
  const Entry &entry = entries_.at(step);
  // Again, because a rank that opens the list only now may find another one than rank 0 did.
  for (bool again = entry.length == 0; cached_ != step; again = true) {
    if (again && !find_again(step))
      throw changed(step);
    try {
      const Span span(*request_.trace, Phase::read, entry.length);
      cached_line_ = log_.read(entry.offset, entry.length, entry.sum);
      cached_ = step;
    } catch (const IoError &) {
      if (again)
        throw;
    }
  }
  return cached_line_;
}

IoError SidecarEngine::changed(std::size_t step) const {
  return series_changed(request_.path, entries_.at(step).info.index);
}

void SidecarEngine::read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const {
  for (int tries = 0; tries < most_tries; ++tries) {
    if (tries > 0)
      std::this_thread::sleep_for(between_tries);
    if ((tries > 0 || entries_.at(step).length == 0) && !find_again(step))
      continue;
    std::exception_ptr failure;
    try {
      read_stored(step, variable, box, data);
    } catch (const IoError &) { // damage, or a file that another program has removed or is writing
      failure = std::current_exception();
    } catch (const json::exception &error) {
      failure = std::make_exception_ptr(damaged(line(step), error));
    }
    if (log_.replaced())
      continue;
    if (failure)
      std::rethrow_exception(failure);
    return;
  }
  throw changed(step);
}

/// Reads the list of steps again, and looks for the lines of before in it. False: that of the step is not there.
bool SidecarEngine::find_again(std::size_t step) const {
  StepLog::Found now = log_.load();
  std::map<std::uint64_t, StepLog::Line> lines;
  for (auto &line : now.lines)
    lines[line.sum] = std::move(line);
  for (Entry &entry : entries_) {
    const auto found = lines.find(entry.sum);
    if (found == lines.end() && !now.damage.empty())
      continue; // its line may be the damaged one: reading it tells
    entry.offset = found == lines.end() ? 0 : found->second.offset;
    entry.length = found == lines.end() ? 0 : found->second.length;
  }
  cached_ = none;
  close_files();
  return entries_.at(step).length > 0;
}

Scalars SidecarEngine::scalars(std::size_t step) const { return scalars_of(line(step)); }

std::vector<VariableInfo> SidecarEngine::variables(std::size_t step) const {
  std::vector<VariableInfo> result;
  for (const auto &described : line(step).at("variables"))
    result.push_back(variable_of(described));
  return result;
}

std::string SidecarEngine::checksums(std::size_t step) const {
  json sums = json::object();
  for (const auto &variable : line(step).at("variables"))
    if (variable.contains("checksums"))
      sums[variable.at("name").get<std::string>()] = variable.at("checksums");
  return sums.dump();
}

const json &SidecarEngine::stored(std::size_t step, const std::string &variable) const {
  for (const auto &found : line(step).at("variables"))
    if (found.at("name") == variable)
      return found;
  throw InputError(fmt::format("{} has no variable '{}'", request_.path, variable)); // Series has looked before
}

} // namespace tailrace::io
