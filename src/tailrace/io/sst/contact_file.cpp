#include <tailrace/io/sst/contact_file.hpp>

#include <tailrace/io/sst/host.hpp>
#include <tailrace/io/sst/options.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace tailrace::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// When a process of this host began, in ticks of the kernel, so that a later process with the same number is not taken
/// for it; "" when there is no such process, or it has ended.
std::string beginning_of(long process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  if (!std::getline(file, text) || text.rfind(')') == std::string::npos)
    return "";
  std::istringstream fields(text.substr(text.rfind(')') + 1)); // the name in front may hold any characters
  std::string field, state;
  fields >> state;
  for (int number = 4; number <= 22; ++number) // proc(5): field 3 is the state, 22 the start time
    fields >> field;
  return state == "Z" || state == "X" ? "" : field;
}

} // namespace

ContactFile::ContactFile(std::string name) : file_(std::move(name) + ".sst"), record_(file_ + ".writer") {}

ContactFile::Owner ContactFile::owner(long &process) const {
  std::ifstream file(record_);
  const json record = file ? json::parse(file, nullptr, false) : json();
  if (!record.is_object() || record.value("host", "") != own_host())
    return Owner::unknown;
  process = record.value("process", 0L);
  const std::string begun = beginning_of(process);
  return !begun.empty() && begun == record.value("begun", "") ? Owner::alive : Owner::dead;
}

bool ContactFile::alive() const {
  std::error_code none;
  long process = 0;
  return fs::exists(file_, none) && owner(process) != Owner::dead;
}

std::string ContactFile::why_not() const {
  std::error_code none;
  long process = 0;
  if (!fs::exists(file_, none))
    return fmt::format("there is no {}, so no writer has opened the stream", file_);
  if (owner(process) == Owner::dead)
    return fmt::format("{} was left by process {} of this host, which has ended", file_, process);
  return fmt::format("nobody answers at the address in {}; the writer may have been killed", file_);
}

void ContactFile::check_writable() const {
  const fs::path parent = fs::path(file_).parent_path();
  if (::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)
    throw file_error("create", file_, errno);
  std::error_code none;
  if (fs::is_directory(file_, none))
    throw file_error("create", file_, EISDIR);
  long process = 0;
  if (owner(process) == Owner::alive)
    throw IoError(fmt::format("cannot write the stream {}: process {} of this host is writing one of that name. To fix "
                              "this, give one of them another name or directory",
                              file_, process));
}

void ContactFile::claim(int port, const std::string &token) const {
  const long process = ::getpid();
  const json record{{"host", own_host()},          {"process", process}, {"begun", beginning_of(process)},
                    {"version", sst_version},      {"port", port},       {"token", token},
                    {"addresses", own_addresses()}};
  replace_file(record_, record.dump() + "\n", false);
}

std::optional<ContactFile::Record> ContactFile::record() const {
  std::ifstream file(record_);
  const json about = file ? json::parse(file, nullptr, false) : json();
  if (!about.is_object())
    return std::nullopt;
  try {
    Record result{about.value("version", 0), about.value("port", 0), about.value("token", ""), {}};
    result.addresses = about.value("addresses", std::vector<std::string>{});
    std::erase(result.addresses, "127.0.0.1");
    if (about.value("host", "") == own_host())
      result.addresses.insert(result.addresses.begin(), "127.0.0.1");
    return result;
  } catch (const json::exception &) {
    return std::nullopt;
  }
}

void ContactFile::release() const noexcept {
  std::error_code none;
  fs::remove(record_, none);
}

} // namespace tailrace::io
