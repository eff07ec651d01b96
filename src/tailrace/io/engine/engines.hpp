#pragma once

#include <tailrace/io/engine/engine_entry.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// The entries of all engines. If two recognise the same files, the first one is used.
const std::vector<EngineEntry> &engine_entries();

/// Throws InputError for an unknown name, with a list of the known ones.
const EngineEntry &engine_entry(const std::string &name);

} // namespace tailrace::io
