#include <tailrace/io/sst/network/contact_file.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A whole number of a record; 0 where it has none.
std::int64_t number_in(const json &record, const char *name) {
  return record.contains(name) ? whole_number(record.at(name)) : 0;
}

/// The process that a record names; an unknown one when the record is damaged.
ProcessIdentity process_in(const json &record) {
  try {
    return {record.value("host", ""), number_in(record, "process"), number_in(record, "begun")};
  } catch (const json::exception &) {
    return {};
  }
}

} // namespace

ContactFile::ContactFile(std::string name) : file_(std::move(name) + ".sst"), record_(file_ + ".writer") {}

ProcessIdentity ContactFile::owner() const {
  try {
    return process_in(parse_json(read_file(record_)));
  } catch (const std::exception &) { // none, or not ours
    return {};
  }
}

bool ContactFile::alive() const {
  std::error_code none;
  return fs::exists(file_, none) && owner().life() != ProcessIdentity::Life::dead;
}

std::string ContactFile::why_not() const {
  std::error_code none;
  if (!fs::exists(file_, none))
    return fmt::format("there is no {}, so no writer has opened the stream", file_);
  if (const ProcessIdentity writer = owner(); writer.life() == ProcessIdentity::Life::dead)
    return fmt::format("{} was left by {}, which has ended", file_, writer.text());
  return fmt::format("nobody answers at the address in {}; the writer may have been killed", file_);
}

void ContactFile::check_writable() const {
  const fs::path parent = fs::path(file_).parent_path();
  if (::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)
    throw file_error("create", file_, errno);
  std::error_code none;
  if (fs::is_directory(file_, none))
    throw file_error("create", file_, EISDIR);
  if (const ProcessIdentity writer = owner(); writer.life() == ProcessIdentity::Life::alive)
    throw IoError(
        fmt::format("cannot write the stream {}: {} is writing one of that name. To fix this, give one of them "
                    "another name or directory",
                    file_, writer.text()));
}

void ContactFile::claim(const Record &record) const {
  const ProcessIdentity own = this_process();
  const json about{{"host", own.host},
                   {"process", own.pid},
                   {"begun", own.begun},
                   {"version", record.version},
                   {"port", record.port},
                   {"token", record.token},
                   {"addresses", record.addresses},
                   {"hosts", record.hosts},
                   {"listens", record.listens},
                   {"listens_at", record.listens_at}};
  replace_file(record_, valid_json_text(about) + "\n", false, 0600); // it holds the token
}

void ContactFile::protect() const noexcept { ::chmod(file_.c_str(), 0600); }

std::optional<ContactFile::Record> ContactFile::record() const {
  try {
    const json about = parse_json(read_file(record_));
    Record result;
    result.version = static_cast<int>(number_in(about, "version"));
    result.port = static_cast<int>(number_in(about, "port"));
    result.token = about.value("token", "");
    result.listens = about.value("listens", "");
    result.listens_at = static_cast<int>(number_in(about, "listens_at"));
    result.addresses = about.value("addresses", std::vector<std::string>{});
    result.hosts = about.value("hosts", std::vector<std::string>{});
    std::erase(result.addresses, "127.0.0.1");
    if (about.value("host", "") == this_process().host)
      result.addresses.insert(result.addresses.begin(), "127.0.0.1");
    return result;
  } catch (const std::exception &) { // none, or not ours
    return std::nullopt;
  }
}

void ContactFile::release() const noexcept {
  std::error_code none;
  fs::remove(record_, none);
}

} // namespace tailrace::io
