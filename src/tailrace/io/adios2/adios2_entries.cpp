#include <tailrace/io/adios2/adios2_types.hpp>
#include <tailrace/io/adios2/bp_index.hpp>
#include <tailrace/io/adios2/bp_record.hpp>
#include <tailrace/io/sidecar/sidecar_engine.hpp>

#include <filesystem>

namespace tailrace::io {

namespace fs = std::filesystem;

// Without ADIOS2 these functions throw an error that says what is missing.
std::unique_ptr<Engine> open_adios_hdf5(const OpenRequest &request, Parameters parameters);
std::unique_ptr<Engine> open_bp4(const OpenRequest &request, Parameters parameters);
std::unique_ptr<Engine> open_bp5(const OpenRequest &request, Parameters parameters);

namespace {

/// Whether the directory is of this version of BP. A series that was killed in its first step has only its name.
bool is_bp(int version, const std::string &path) {
  if (const int found = bp::version(path); found != 0)
    return found == version;
  return is_there((fs::path(path) / "md.idx").string()) && (fs::path(path).extension() == ".bp4") == (version == 4);
}

/// Ours have a record. One that is being replaced has none yet.
bool is_ours(const std::string &path) {
  return is_there((fs::path(path) / "tailrace.json").string()) || is_there(path + ".replaced");
}

EngineTraits bp_traits(const std::string &name) {
  EngineTraits traits{.name = name, .family = "bp"};
  traits.types = bp::names_of_adios2_types();
  traits.owns_directory = true;
  traits.library = "ADIOS2";
  traits.waits = true;
  traits.compression = "operator";
  traits.remains = {"md.idx", "md.0", "data.0", "tailrace.json"};
  traits.model.pattern = "subfiles";
  return traits;
}

EngineEntry bp_entry(int version, EngineTraits traits, decltype(EngineEntry::open) open) {
  const auto wrote = [version](const std::string &path, const Start &start) {
    return start.directory && is_bp(version, path);
  };
  return {std::move(traits), open, wrote, nullptr, is_ours, bp_record_covers};
}

bool not_vouched(const std::string &) { return false; }

} // namespace

EngineEntry bp4_entry() {
  EngineTraits traits = bp_traits("bp4");
  traits.extensions = {".bp4"};
  traits.longest_text = 65535; // most_text in contents.hpp
  traits.text_lists = false;   // ADIOS2 writes beyond the end of its buffer for them
  traits.model.copies = 1;
  traits.model.statistics = true;
  traits.model.preference = 2;
  return bp_entry(4, std::move(traits), open_bp4);
}

EngineEntry bp5_entry() {
  EngineTraits traits = bp_traits("bp5");
  traits.extensions = {".bp", ".bp5"};
  traits.model.preference = 1;
  return bp_entry(5, std::move(traits), open_bp5);
}

EngineEntry adios_hdf5_entry() {
  EngineTraits traits{.name = "adios_hdf5", .family = "adios_hdf5", .extensions = {".adios_hdf5"}};
  traits.step_files = {"step-[0-9]*.h5"};
  traits.types = bp::names_of_adios2_types();
  traits.library = "ADIOS2";
  traits.model = {
      .pattern = "shared", .collective_parameter = "H5CollectiveMPIO", .collective_default = "no", .preference = 3};
  EngineEntry entry = sidecar_entry(std::move(traits), open_adios_hdf5);
  entry.vouched = not_vouched; // ADIOS2 writes the format of HDF5 that has no checksums
  return entry;
}

} // namespace tailrace::io
