#pragma once

#include <tailrace/io/trace.hpp>
#include <tailrace/support/communicator.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// A phase over all ranks: sums of calls and bytes; smallest, mean and largest of the ranks' seconds.
struct PhaseSummary {
  Phase phase = Phase::write;
  std::int64_t calls = 0, bytes = 0;
  double min_seconds = 0, mean_seconds = 0, max_seconds = 0;
};

/// The phases in which anything happened, the same on all ranks. Collective.
std::vector<PhaseSummary> summarise(const Trace &trace, const Communicator &comm);

/// Writes the events of all ranks as JSON in Chrome's trace format, which Perfetto and chrome://tracing open: a rank is
/// a process, its background a thread of it. `title` names it. Collective.
void write_chrome_trace(const std::string &file, const std::string &title, const Trace &trace,
                        const Communicator &comm);

/// Writes the events of all ranks as folded stacks, "rank 0;metadata;write 1234" (microseconds), which flamegraph.pl,
/// inferno and speedscope read. Collective.
void write_folded_stacks(const std::string &file, const Trace &trace, const Communicator &comm);

} // namespace tailrace::io
