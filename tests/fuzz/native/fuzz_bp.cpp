// What Tailrace itself reads of a BP directory before ADIOS2 opens it: md.idx and tailrace.json, the record beside it.

#include "files.hpp"
#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/adios2/bp_view.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/recognition.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <functional>

using namespace tailrace;
using namespace tailrace::io;

namespace {

/// The record in a file with its checksum. Other texts as they are.
std::string checked(const std::string &text) {
  try {
    const auto record = parse_json(text);
    if (!record.contains("record"))
      return fmt::format(R"({{"version": 2, "checksum": "{}", "record": {}}})", fuzz::checksum(record.dump()), text);
  } catch (const nlohmann::json::exception &) {
  }
  return text;
}

void allow_errors(const std::function<void()> &work) {
  try {
    work();
  } catch (const Error &) {
  }
}

void read_all(const std::string &path) {
  engine_at(path);
  metadata_vouched(path, "bp5");
  is_empty_bp(path);
  bp_files(path);
  bp::data_sizes(path);
  allow_errors([&] { check_bp_record(path); });
  allow_errors([&] { check_only_bp(path); });
  allow_errors([&] {
    if (BpView(path).changed())
      __builtin_trap(); // nobody has changed it
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  auto files = fuzz::unpack(data, size);
  for (auto &file : files)
    if (file.name == "tailrace.json")
      file.bytes = checked(file.bytes);
  const fuzz::Folder folder(files);
  const std::string path = folder.path("");
  read_all(path);
  const int version = bp::version(path);
  if (version == 0 || !bp::has_steps(path))
    return 0;
  const std::size_t kept = 1 + size % 3;
  allow_errors([&] { version == 4 ? bp::cut_bp4(path, kept, {{"data.0", 8 * kept}}) : (void)bp::cut_bp5(path, kept); });
  read_all(path);
  return 0;
}
