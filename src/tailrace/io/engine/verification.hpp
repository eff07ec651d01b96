#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// Compares a readable step with its checksums; returns what is damaged, one line each. Reads at most 64 MiB, or one
/// row, at a time. Collective: the ranks share the blocks, and all ranks get all lines.
std::vector<std::string> verify_step(const StepSource &source, const Communicator &comm, std::size_t position);

/// The variables of a step that have no checksums. Local.
std::vector<std::string> unchecked_variables(const StepSource &source, std::size_t position);

} // namespace tailrace::io
