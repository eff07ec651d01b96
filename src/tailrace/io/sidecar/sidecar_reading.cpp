// How a series of the sidecar family is read: its list of steps, and the variables of a step.

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/engine/series_changed.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <thread>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr int most_tries = 10; ///< of reading a step in a series that changes meanwhile
constexpr std::chrono::milliseconds between_tries{100};

Scalars scalars_of(const json &step) { return scalars_from_json(step.at("scalars")); }

VariableInfo variable_of(const json &described) {
  return {described.at("name"), type_named(described.at("type")), index3_from_json(described.at("shape")),
          described.contains("list")};
}

} // namespace

/// Throws IoError for a step that no writer of ours describes.
void SidecarEngine::check_step(const json &step) const {
  try {
    scalars_of(step);
    if (step.contains("table")) // which tells the names of the others
      file(step.at("table"));
    else
      for (const auto &name : files(step))
        file(name);
    for (const auto &described : step.at("variables")) {
      const VariableInfo variable = variable_of(described);
      check_shape(variable.name, variable.shape, variable.list);
      if (in_table(described))
        check_table(described.at("table"));
      check(described, variable);
    }
  } catch (const std::exception &error) {
    throw damaged(step, error);
  }
}

IoError SidecarEngine::damaged(const json &step, const std::exception &error) const {
  return IoError(fmt::format("cannot read {}: step {} is damaged ({})", log_.path(), valid_json_text(step.at("index")),
                             error.what()));
}

void SidecarEngine::load() {
  const std::string &path = log_.path();
  if (!std::filesystem::exists(path))
    throw IoError(
        fmt::format("cannot read {}: it holds no series.jsonl, so it is not a {} series", request_.path, name_));
  const Span span(*request_.trace, Phase::read, static_cast<std::int64_t>(std::filesystem::file_size(path)));
  const StepLog::Found found = log_.load();
  damage_ = found.damage;
  closed_ = false;
  try {
    if (found.lines.empty() || found.lines[0].offset != 0)
      throw IoError(fmt::format("cannot read {}: its first line, which describes the series, is damaged", path));
    header_ = found.lines[0].object;
    if (const std::string theirs = header_.at("format"), ours = fmt::format("tailrace {} series", name_);
        theirs != ours)
      throw IoError(fmt::format("cannot open {}: it is a '{}'; expected a '{}'. To fix this, name the other engine",
                                request_.path, theirs, ours));
    if (const std::int64_t theirs = whole_number(header_.at("version")); theirs != version && theirs != with_tables)
      throw IoError(fmt::format("cannot read {}: its version is {}; this program reads versions {} and {}", path,
                                theirs, version, with_tables));
    if (header_.at("byte_order") != native_order)
      throw IoError(fmt::format("cannot read {}: its files have the byte order of another machine", path));
    if (const auto told = grid())
      check_grid(*told);
    for (const auto &line : found.lines) {
      closed_ = line.object.contains("closed");
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
  if (request_.mode == Mode::append && block_list_.always_table() && header_.at("version") != with_tables)
    throw InputError(
        fmt::format("cannot append to {} with blocks = table: the series lists its blocks in lines. To fix "
                    "this, leave the parameter out, or begin a new series",
                    request_.path));
  if (!closed_ && request_.mode == Mode::read)
    request_.notes->push_back(
        "the series was not closed: it is still being written, its program was killed, or the end "
        "of series.jsonl is missing");
}

Attributes SidecarEngine::attributes() const { return attributes_from_json(attributes_); }

std::vector<std::string> SidecarEngine::files() const {
  std::vector<std::string> result{log_.path()};
  if (xdmf_)
    result.push_back(xdmf_->all_steps());
  for (std::size_t step = 0; step < entries_.size(); ++step)
    for (const auto &name : all_files(line(step)))
      result.push_back(file(name));
  std::erase_if(result, [](const std::string &path) { return !std::filesystem::exists(path); }); // XDMF may be missing
  return result;
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
      table_.reset();
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
  table_.reset();
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
  std::string text = "{";
  for (const auto &variable : line(step).at("variables"))
    if (const auto sums = variable.find("checksums"); sums != variable.end())
      text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", valid_json_text(variable.at("name")),
                          in_table(variable) ? checksums_to_json(table(line(step), variable).all())
                                             : valid_json_text(*sums));
  return text + "}";
}

BlockTable SidecarEngine::table(const json &step, const json &described) const {
  return {file(step.at("table")), described.at("table"), variable_of(described)};
}

std::vector<StoredBlock> SidecarEngine::blocks_of(std::size_t step, const VariableInfo &variable,
                                                  const Box &box) const {
  const json &described = stored(step, variable.name);
  if (!in_table(described))
    return blocks_that_meet(blocks_in_line(described), variable, box, log_.path());
  if (!table_ || table_of_ != variable.name)
    table_ = table(line(step), described);
  table_of_ = variable.name;
  return blocks_that_meet(table_->near(box), variable, box, file(line(step).at("table")));
}

const json &SidecarEngine::stored(std::size_t step, const std::string &variable) const {
  for (const auto &found : line(step).at("variables"))
    if (found.at("name") == variable)
      return found;
  throw InputError(fmt::format("{} has no variable '{}'", request_.path, variable)); // Series has looked before
}

} // namespace tailrace::io
