#pragma once

#include <tailrace/io/trace.hpp>
#include <tailrace/support/communicator.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// A phase over all ranks: sums of calls and bytes; minimum, mean and maximum of the ranks' seconds.
struct PhaseSummary {
  Phase phase = Phase::write;
  std::int64_t calls = 0, bytes = 0;
  double min_seconds = 0, mean_seconds = 0, max_seconds = 0;
};

/// The phases that have events, the same on all ranks. Collective.
std::vector<PhaseSummary> summarise(const Trace &trace, const Communicator &comm);

/// Writes the events of all ranks as JSON in Chrome's trace format, for Perfetto and chrome://tracing: each rank is a
/// process, and its background is a thread of the process. `title` is the title of the trace. Collective.
void write_chrome_trace(const std::string &file, const std::string &title, const Trace &trace,
                        const Communicator &comm);

/// Writes the events of all ranks as folded stacks, "rank 0;metadata;write 1234" (microseconds), for flamegraph.pl,
/// inferno and speedscope. Collective.
void write_folded_stacks(const std::string &file, const Trace &trace, const Communicator &comm);

} // namespace tailrace::io
