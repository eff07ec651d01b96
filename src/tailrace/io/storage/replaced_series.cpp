#include <tailrace/io/storage/replaced_series.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char *kind = "replaced series";

/// The path without links, so that a link stays and what it leads to is renamed.
std::string real_path(const std::string &path) {
  std::error_code why;
  const fs::path given = fs::absolute(path, why);
  if (why)
    return path;
  fs::path real = fs::weakly_canonical(given, why);
  if (why)
    real = given;
  return (real.has_filename() ? real : real.parent_path()).string();
}

bool is_plain(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

void rename(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()) == 0)
    return;
  if (errno == EXDEV || errno == EBUSY)
    throw IoError(fmt::format("cannot rename {} to {}, because that is another file system. To fix this, write to a "
                              "directory below the mount point, or remove the earlier series",
                              from, to));
  throw file_error("rename", from, errno);
}

/// Removes a file, or a directory of nothing but files.
void remove_files(const std::string &path) {
  if (!is_there(path))
    return;
  if (is_directory(path) && !is_link(path)) {
    for (const auto &entry : fs::directory_iterator(path))
      if (entry.is_directory() && !entry.is_symlink())
        throw IoError(
            fmt::format("cannot remove {}: it holds the directory {}, which is of no series. To fix this, move "
                        "it away",
                        path, entry.path().string()));
    for (const auto &entry : fs::directory_iterator(path))
      if (::unlink(entry.path().c_str()) != 0)
        throw file_error("remove", entry.path().string(), errno);
  }
  if (std::remove(path.c_str()) != 0 && errno != ENOENT)
    throw file_error("remove", path, errno);
}

} // namespace

ReplacedSeries::ReplacedSeries(const std::string &path, bool sync)
    : path_(real_path(path)), aside_(path_ + ".replaced"), record_(aside_ + ".json"), sync_(sync) {}

bool ReplacedSeries::is_there() const { return io::is_there(record_); }

/// All renamings. The first is that of what makes the files a series: its file, its directory, or the list in it. It is
/// set aside first and put back last, so that a series at the path, with steps, is always the new one.
std::vector<ReplacedSeries::Move> ReplacedSeries::moves() const {
  std::vector<Move> all;
  if (names_.empty())
    all.push_back({path_, aside_});
  for (const auto &name : names_)
    all.push_back({fmt::format("{}/{}", path_, name), fmt::format("{}/{}", aside_, name)});
  for (const auto &ending : beside_)
    all.push_back({fmt::format("{}.{}", path_, ending), fmt::format("{}.{}", aside_, ending)});
  return all;
}

void ReplacedSeries::write_record(const char *state) const {
  const json record{{"tailrace", kind}, {"state", state}, {"beside", beside_}, {"names", names_}};
  replace_file(record_, valid_json_text(record), sync_);
}

void ReplacedSeries::read_record(std::string &state) {
  const std::string text = read_file(record_);
  if (text.find_first_not_of('\0') == std::string::npos) // of a power failure, before anything was renamed
    return;
  try {
    const json record = parse_json(text);
    state = record.at("state");
    beside_ = record.at("beside").get<std::vector<std::string>>();
    names_ = record.at("names").get<std::vector<std::string>>();
    const auto known = [](const std::string &ending) { return ending == "journal" || ending == "xdmf2"; };
    if (record.at("tailrace") == kind && (state == "aside" || state == "remove") &&
        std::ranges::all_of(names_, is_plain) && std::ranges::all_of(beside_, known))
      return;
  } catch (const json::exception &) { // the error below
  }
  throw IoError(
      fmt::format("cannot write {}: {} is damaged, or no record of Tailrace. It says which files of a series "
                  "that was being replaced are in {}. To fix this, rename those as you want to have them, and "
                  "remove it",
                  path_, record_, aside_));
}

void ReplacedSeries::remove_draft() const {
  const std::string draft = record_ + ".tmp"; // of `replace_file`
  if (!io::is_there(draft) || is_link(draft) || is_directory(draft))
    return;
  if (bytes_of(draft) == 0 || read_file(draft).find(kind) != std::string::npos)
    ::unlink(draft.c_str());
}

void ReplacedSeries::finish(const std::function<bool()> &begun) {
  if (!is_there())
    return;
  std::string state;
  read_record(state);
  if (state.empty())
    return forget();
  holds_ = true;
  if (state == "aside" && !begun())
    return put_back();
  remove();
  if (holds_)
    throw IoError(
        fmt::format("cannot write {}: the series before, {}, cannot be removed. To fix this, remove it and {}", path_,
                    aside_, record_));
}

void ReplacedSeries::rename_all() {
  const bool whole_directory = is_directory(path_) && !is_link(path_) && names_.empty();
  for (const Move &move : moves())
    if (io::is_there(move.to))
      throw IoError(
          fmt::format("cannot replace {}: {}, to which the series there would be renamed until the new one has "
                      "a step, is there already. To fix this, move it away",
                      path_, move.to));
  if (!names_.empty() && io::is_there(aside_))
    throw IoError(fmt::format("cannot replace {}: {} is there already. To fix this, move it away", path_, aside_));
  write_record("aside");
  holds_ = true;
  try {
    if (!names_.empty() && ::mkdir(aside_.c_str(), 0777) != 0)
      throw file_error("create", aside_, errno);
    for (const Move &move : moves())
      if (io::is_there(move.from))
        rename(move.from, move.to);
    if (whole_directory && ::mkdir(path_.c_str(), 0777) != 0) // a link to it must lead somewhere
      throw file_error("create", path_, errno);
  } catch (...) {
    put_back_if_possible();
    throw;
  }
}

void ReplacedSeries::set_aside(const std::vector<std::string> &beside) {
  beside_ = beside;
  names_.clear();
  rename_all();
}

void ReplacedSeries::set_aside_in(const std::vector<std::string> &names) {
  beside_.clear();
  names_ = names;
  if (!names_.empty())
    rename_all();
}

void ReplacedSeries::forget() {
  if (::unlink(record_.c_str()) != 0 && errno != ENOENT)
    throw file_error("remove", record_, errno);
  holds_ = false;
}

void ReplacedSeries::remove() noexcept {
  if (!holds_)
    return;
  is_replaced_ = true; // whatever fails from here on
  try {
    try {
      write_record("remove");
    } catch (const std::exception &) { // a full disk, which has room again when the files are gone
    }
    for (const Move &move : moves())
      remove_files(move.to);
    if (!names_.empty())
      ::rmdir(aside_.c_str()); // unless somebody has put something there
    forget();
  } catch (const std::exception &) { // the record stays
  }
}

void ReplacedSeries::put_back() {
  if (!holds_ || is_replaced_)
    return;
  const bool new_one_is_there = names_.empty() && io::is_there(path_) && io::is_there(aside_);
  const std::vector<Move> all = moves();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const Move &move = *at;
    if (!io::is_there(move.to)) {
      if (new_one_is_there) // a file beside the new series, such as its journal, which fits no other
        remove_files(move.from);
      continue;
    }
    if (names_.empty())
      remove_files(move.from);
    else
      fs::create_directory(path_);
    rename(move.to, move.from);
  }
  if (!names_.empty())
    ::rmdir(aside_.c_str());
  forget();
}

void ReplacedSeries::put_back_if_possible() noexcept {
  try {
    put_back();
  } catch (const std::exception &) { // the record stays, by which the next writer does it
  }
}

std::string ReplacedSeries::told(const std::string &path) noexcept {
  try {
    const ReplacedSeries series(path);
    if (!series.is_there() || !io::is_there(series.aside_))
      return "";
    return fmt::format("the series that this one replaces is {} until this one has its first step; if its writer was "
                       "killed, the next writer puts it back",
                       series.aside_);
  } catch (const std::exception &) {
    return "";
  }
}

} // namespace tailrace::io
