#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// Compares a step that can be read with its checksums; says what is damaged, one line each. Reads at most 64 MiB at
/// once, or one row. Collective: the ranks share the blocks, and all get all lines.
std::vector<std::string> verify_step(const StepSource &source, const Communicator &comm, std::size_t position);

/// The variables of a step that have no checksums. Local.
std::vector<std::string> unchecked_variables(const StepSource &source, std::size_t position);

} // namespace tailrace::io
