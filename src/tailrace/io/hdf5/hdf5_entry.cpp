#include <tailrace/io/engine/engine_entry.hpp>
#include <tailrace/io/hdf5/vtkhdf/xdmf_companion.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>

#include <string_view>

namespace tailrace::io {

std::unique_ptr<Engine> open_hdf5(const OpenRequest &request, Parameters parameters);

namespace {

constexpr std::string_view signature = "\x89HDF\r\n\x1a\n", group_entry = "\x08Tailrace"; ///< with its length
constexpr std::size_t first_bytes = 65536; ///< among which a series of ours has the entry of our group
constexpr char checked_version = 2;        ///< of the superblock: from then on metadata have checksums

/// A power failure leaves an empty file, or a file of zeros; such a file is not foreign.
bool is_foreign(const std::string &path) {
  const std::string start = start_of(path, first_bytes); // empty for a directory too
  if (start.empty() || (start.starts_with(signature) && start.find(group_entry) != std::string::npos))
    return false;
  const std::size_t written = start.find_last_not_of('\0') + 1;
  return !signature.starts_with(start.substr(0, written)) ||
         !has_zeros_from(FileDescriptor(path, O_RDONLY), static_cast<std::int64_t>(written), path);
}

bool is_ours(const std::string &path) { return !is_foreign(path); }

/// Only our files are known to use no older format than their superblock: those of other programs may mix both.
bool vouched(const std::string &path) {
  const std::string start = start_of(path, signature.size() + 1);
  return start.starts_with(signature) && start.size() > signature.size() && start.back() >= checked_version &&
         is_ours(path);
}

} // namespace

EngineEntry hdf5_entry() {
  EngineTraits traits{.name = "hdf5", .family = "hdf5", .extensions = {".h5", ".hdf", ".hdf5", ".vtkhdf"}};
  traits.aliases = {"vtkhdf"};
  traits.one_file = true;
  traits.library = "HDF5";
  traits.journal = ".journal";
  traits.companion = Hdf5Drawing::ending;
  traits.compression = "compression";
  traits.model = {
      .pattern = "shared", .collective_parameter = "transfer", .collective_default = "independent", .preference = 0};
  const auto wrote = [](const std::string &, const Start &start) { return start.text.starts_with(signature); };
  return {traits, open_hdf5, wrote, is_foreign, is_ours, vouched};
}

} // namespace tailrace::io
