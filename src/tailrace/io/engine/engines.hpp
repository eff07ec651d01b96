#pragma once

#include <tailrace/io/engine/engine_entry.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// The entries of all engines. Of two that know the same files the first one is meant.
const std::vector<EngineEntry> &engine_entries();

/// Throws InputError for an unknown name, with a list of those that there are.
const EngineEntry &engine_entry(const std::string &name);

} // namespace tailrace::io
