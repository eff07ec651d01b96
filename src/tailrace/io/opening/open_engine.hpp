#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <memory>
#include <optional>
#include <string>

namespace tailrace {
class FileLock;
}

namespace tailrace::io {

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
