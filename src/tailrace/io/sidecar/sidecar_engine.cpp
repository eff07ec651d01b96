#include <tailrace/io/sidecar/sidecar_engine.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sidecar/foreign_files.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <iterator>
#include <set>

namespace tailrace::io {

using nlohmann::json;

namespace {

json reversed(const Index3 &n) { return {n[2], n[1], n[0]}; }

} // namespace

EngineEntry sidecar_entry(EngineTraits traits, std::unique_ptr<Engine> (*open)(const OpenRequest &, Parameters)) {
  traits.sidecar = true;
  traits.step_files.push_back("step-[0-9]*.blocks");
  const auto wrote = [format = fmt::format("\"tailrace {} series\"", traits.name)](const std::string &,
                                                                                   const Start &start) {
    return start.directory && start.text.substr(0, start.text.find('\n')).find(format) != std::string::npos;
  };
  return {std::move(traits), open, wrote};
}

SidecarEngine::SidecarEngine(const OpenRequest &request, std::string name, std::string layout)
    : request_(request), name_(std::move(name)), layout_(std::move(layout)), log_(file("series.jsonl")) {}

std::string SidecarEngine::file(const std::string &name) const {
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string("/\0", 2)) != std::string::npos)
    throw IoError(fmt::format("cannot open {}: it names the file {}; expected a plain name in its directory",
                              request_.path, json_text(name)));
  return (std::filesystem::path(request_.path) / name).string();
}

void SidecarEngine::take(Parameters &parameters) { block_list_ = BlockList(parameters); }

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
    if (request_.mode == Mode::append && !goes_on_with_drawing())
      publish_all();
  });
  share();
}

/// Sends what rank 0 read to all ranks: the header, and where the lines of the steps are.
void SidecarEngine::share() {
  header_ = parse_json(request_.comm.broadcast(valid_json_text(header_), 0));
  attributes_ = parse_json(request_.comm.broadcast(valid_json_text(attributes_), 0));
  damage_ = parse_json(request_.comm.broadcast(json_text(damage_), 0)).get<std::vector<std::string>>();
  entries_ = request_.comm.broadcast(std::move(entries_), 0);
}

SidecarEngine::Entry SidecarEngine::entry_of(const StepLog::Line &line) {
  return {{whole_number(line.object.at("index")), line.object.at("time")}, line.offset, line.length, line.sum};
}

void SidecarEngine::create() {
  const std::vector<StepLog::Line> earlier = earlier_lines(log_);
  if (::mkdir(request_.path.c_str(), 0777) != 0 && errno != EEXIST)
    throw file_error("create", request_.path, errno);
  if (const std::string said = apply_striping(request_.striping, request_.path, Kind::directory); !said.empty())
    request_.notes->push_back(said);
  header_ = {{"format", fmt::format("tailrace {} series", name_)},
             {"version", version},
             {"byte_order", native_order},
             {"axes", {"z", "y", "x"}},
             {"layout", layout_}};
  if (block_list_.goes_into_table(static_cast<std::size_t>(request_.comm.size()))) {
    header_["version"] = with_tables;
    header_["tables"] = "of 64-bit numbers; a block: rank or task, offset, z, y, x, nz, ny, nx, xxh3; "
                        "a page of 64 blocks: z, y, x, nz, ny, nx, xxh3";
  }
  if (request_.grid)
    header_["grid"] = grid_to_json(*request_.grid);
  if (json names = foreign_files_in(request_.path, earlier); !names.empty())
    header_["strangers"] = std::move(names);
  if (xdmf_)
    refuse_foreign_file(header_, xdmf_->all_steps());
  set_aside(earlier);
  log_.replace({header_}, request_.sync);
  if (xdmf_)
    xdmf_->clear();
  if (request_.sync)
    sync_parent(request_.path);
}

/// Sets aside the files of an earlier series, which the new one replaces; all other files stay.
void SidecarEngine::set_aside(const std::vector<StepLog::Line> &earlier) const {
  std::set<std::string> listed;
  for (const auto &[offset, length, sum, step] : earlier)
    if (step.contains("index"))
      try {
        for (const auto &name : all_files(step))
          if (!file(name).empty()) // it throws for what is no name
            listed.insert(name);
      } catch (const std::exception &) { // if the first line is damaged, the lines may be of another engine
      }
  // Not within the `try`: without what cannot be examined, the new list would take the place of the earlier one.
  std::erase_if(listed, [&](const std::string &name) { return !is_regular(file(name)); });
  if (listed.empty() || !request_.replaced)
    return;
  const std::string drawing = xdmf_ ? std::filesystem::path(xdmf_->all_steps()).filename().string() : "";
  std::vector<std::string> moved{"series.jsonl"}; // first: it lists the others
  moved.insert(moved.end(), listed.begin(), listed.end());
  if (!drawing.empty() && std::filesystem::exists(file(drawing)))
    moved.push_back(drawing);
  request_.replaced->set_aside_in(moved);
}

void SidecarEngine::rewind(std::int64_t last_index) {
  std::vector<json> kept{header_}, dropped;
  if (!attributes_.empty())
    kept.push_back({{"attributes", attributes_}});
  for (const auto &entry : entries_)
    (entry.info.index <= last_index ? kept : dropped).push_back(log_.read(entry.offset, entry.length, entry.sum));
  if (dropped.empty())
    return;
  if (xdmf_)
    xdmf_->drop(); // first: it must not show steps that are not listed, whatever fails from here on
  entries_.clear();
  for (const auto &line : log_.replace(kept, request_.sync)) // replace the list first: a listed file must exist
    if (line.object.contains("index"))
      entries_.push_back(entry_of(line));
  for (const auto &step : dropped)
    remove_files(step);
}

/// Those with the values, and with the table.
std::vector<std::string> SidecarEngine::all_files(const json &step) const {
  std::vector<std::string> names = files(step);
  if (step.contains("table"))
    names.push_back(step.at("table"));
  return names;
}

void SidecarEngine::remove_files(const json &step) const {
  std::vector<std::string> names;
  try {
    names = all_files(step);
  } catch (const IoError &) { // the table that names them is damaged or gone
    names.push_back(step.at("table"));
  }
  for (const auto &name : names)
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
  own_blocks_.clear();
}

FileDescriptor SidecarEngine::create_file(const std::string &path) {
  refuse_foreign_file(header_, path);
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
  std::vector<BlockRows> stored;
  if (by_blocks_)
    stored = gather_blocks(own_blocks_, step_["variables"].size(), request_.comm);
  // On all ranks, before rank 0 lists the step: a line that is there cannot be taken back for readers that have seen
  // it.
  request_.comm.agree([&] {
    if (request_.comm.rank() == 0)
      describe_blocks(metadata, std::move(stored));
    own_files_.check();
  });
  request_.comm.agree([&] {
    if (request_.comm.rank() != 0)
      return;
    step_["scalars"] = scalars_to_json(metadata.scalars);
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
  if (xdmf_)
    xdmf_->keep();
}

void SidecarEngine::list_blocks(json &described, const BlockRows &rows) const {
  std::transform(rows.begin(), rows.end(), std::back_inserter(described["blocks"] = json::array()), block_to_json);
}

/// Lists the blocks of the open step with their checksums, and with their places if they are `stored` one by one: in
/// its line, or in its table.
void SidecarEngine::describe_blocks(const StepMetadata &metadata, std::vector<BlockRows> stored) {
  FileDescriptor table;
  std::string path;
  std::int64_t end = 0;
  for (std::size_t v = 0; v < step_["variables"].size(); ++v) {
    json &variable = step_["variables"][v];
    BlockRows rows = by_blocks_ ? std::move(stored[v]) : BlockRows();
    const BlockRows *sums = nullptr;
    if (metadata.blocks)
      if (const auto found = metadata.blocks->find(variable.at("name")); found != metadata.blocks->end())
        sums = &found->second;
    for (std::size_t at = 0; by_blocks_ && sums && at < rows.size(); ++at)
      rows[at].sum = sums->at(at).sum;
    if (!by_blocks_ && sums)
      rows = *sums;
    if (header_.at("version") != with_tables || !block_list_.goes_into_table(rows.size())) {
      if (by_blocks_)
        list_blocks(variable, rows);
      if (sums)
        variable["checksums"] = parse_json(checksums_to_json(rows));
      continue;
    }
    if (path.empty()) {
      step_["table"] = fmt::format("step-{:08d}.blocks", step_.at("index").get<std::int64_t>());
      path = file(step_.at("table"));
      table = create_file(path);
    }
    variable["table"] = write_table(table, path, rows, end);
    if (sums)
      variable["checksums"] = "table";
  }
  if (path.empty())
    return;
  if (request_.sync && ::fsync(table.get()) != 0)
    throw file_error("sync", path, errno);
  table = FileDescriptor();
  made(path);
}

void SidecarEngine::publish_step() {
  if (!xdmf_)
    return;
  if (!xdmf_->is_whole())
    publish_all();
  xdmf_->add(grid(), step_, [this](const std::string &path) { return create_file(path); });
}

/// Whether nothing is to do for XDMF files after opening to append. Of series.xdmf only the ends are looked at, so
/// after a writer that was killed, with its machine perhaps, it is made again.
bool SidecarEngine::goes_on_with_drawing() {
  if (!xdmf_ || entries_.empty() || !closed_)
    return !xdmf_;
  const json first = line(0), last = line(entries_.size() - 1);
  return xdmf_->take_up(grid(), first, entries_.size() > 1 ? &last : nullptr);
}

void SidecarEngine::publish_all() {
  if (!xdmf_)
    return;
  xdmf_->clear();
  try {
    for (std::size_t step = 0; step < entries_.size(); ++step)
      xdmf_->add_to_series(grid(), line(step));
  } catch (...) {
    xdmf_->drop(); // rather no drawing than one of some of the steps
    throw;
  }
}

void SidecarEngine::abandon_step() noexcept {
  for (const auto &path : created_) // and no file of that name that was refused
    ::unlink(path.c_str());
  created_.clear();
  if (request_.comm.rank() == 0 && xdmf_ && step_.contains("variables"))
    xdmf_->take_back();
  step_ = json();
}

void SidecarEngine::set_attributes(const Attributes &attributes) {
  attributes_ = attributes_to_json(attributes);
  unsaved_ = true;
}

void SidecarEngine::close() {
  request_.comm.agree([&] {
    if (request_.comm.rank() != 0 || request_.mode == Mode::read)
      return;
    if (xdmf_ && request_.sync)
      xdmf_->sync(); // before the line that says so
    if (unsaved_)
      log_.append({{"attributes", attributes_}}, request_.sync);
    log_.append({{"closed", true}}, request_.sync);
  });
  unsaved_ = false;
}

} // namespace tailrace::io
