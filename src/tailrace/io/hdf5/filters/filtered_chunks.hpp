#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/h5/h5.hpp>
#include <tailrace/support/communicator.hpp>

#include <cstdint>
#include <string>

namespace tailrace::io {

/// How a dataset [step, z, y, x] was created, as text that can be sent to other ranks.
std::string encode_creation(hid_t dataset);

/// Writes step number `row` of a dataset whose chunks go through filters, for any decomposition. A chunk belongs to
/// the rank that has its first point: the other ranks send their parts to it, and it applies the filters, all ranks at
/// the same time. The result goes to rank 0, the only one that has the file open, which stores it. This is done in
/// rounds, so that no rank holds more than 32 MiB or one chunk in each stage.
///
/// `creation`: from encode_creation, the same on all ranks. `dataset` and `path` (for errors): used in rank 0 only.
/// Collective; the same error on all ranks.
void write_through_filters(const Communicator &comm, const Block &block, const std::string &creation, hid_t dataset,
                           std::int64_t row, const std::string &path, Trace &trace);

} // namespace tailrace::io
