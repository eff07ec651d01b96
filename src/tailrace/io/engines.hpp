#pragma once

#include <tailrace/io/types.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tailrace {
class FileLock;
}

namespace tailrace::io {

class Engine;
class Parameters;
class ReplacedSeries;
struct OpenRequest;

/// Names of all engines of this library.
const std::vector<std::string> &engine_names();

/// The engine that wrote the files at `path`; "" if there are none, or none of a known format. Local.
std::string engine_at(const std::string &path);

/// Whether there is a file at `path` that is no HDF5 series of ours. A file that is empty, or has zeros where ours has
/// its first bytes and all others, is what a power failure leaves of one. Local. Throws IoError if there is a named
/// pipe, a socket or a device.
bool is_foreign_file(const std::string &path);

/// Whether checksums of ours cover all metadata of the bp4 or bp5 series at `path`. Otherwise damaged metadata may
/// crash ADIOS2. Throws IoError if the checksums cannot be read. Local.
bool metadata_vouched(const std::string &path);

/// Settings of a series from the caller, the environment and the path. The caller's settings override the environment:
/// TAILRACE_ENGINE="hdf5", TAILRACE_PARAMETERS="sync=on, raw:aggregators=node". A parameter with an engine's name as a
/// prefix is for that engine only. Local.
struct Settings {
  std::string path; ///< without the "sst:" that names an engine
  std::string engine;
  std::map<std::string, std::string> parameters;
};
Settings resolve_settings(const std::string &path, Mode mode, const std::string &engine,
                          const std::map<std::string, std::string> &parameters);

/// Opens the engine `name`. To write, rank 0 first locks the series with `lock`, and finishes what a killed program
/// began to replace. A new series sets aside in `replaced` what is there. Throws IoError if another writer has the
/// series open, or if a new series would replace a series of another family of engines. Collective; the same error on
/// all ranks.
std::unique_ptr<Engine> open_engine(const std::string &name, const OpenRequest &request, const Parameters &parameters,
                                    std::optional<FileLock> &lock, std::optional<ReplacedSeries> &replaced);

/// Puts back what a killed program began to replace by a series at `path`, or removes it where the new series has a
/// step. Local. Throws IoError if a program is writing the series.
void finish_replacing(const std::string &path);

} // namespace tailrace::io
