#pragma once

#include <tailrace/io/engine/aggregation.hpp>
#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/sst/network/networks.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tailrace::io {

/// What happens to a step when the slowest reader still has `queue` steps to do.
enum class StreamPolicy {
  block,       ///< the writer waits
  drop_newest, ///< this step is left out
  drop_oldest, ///< the oldest held step is left out
  adapt        ///< this step is left out; also when the coupling has used up its share of the time
};

/// The parameters of a stream, for the writer and the reader.
struct SstOptions {
  std::map<std::string, std::string> engine; ///< those of ADIOS2, with our defaults
  std::optional<Aggregators> aggregators;    ///< nothing: all, or where there are many ranks, one of each node
  StreamPolicy policy = StreamPolicy::block;
  std::int64_t queue = 2;
  double share = 0;           ///< of the time, for `adapt`
  bool keeps_unread = false;  ///< ADIOS2 shall keep steps for a reader that comes later
  double timeout = 0;         ///< seconds that one end waits for the other
  double wait_for_reader = 0; ///< seconds that the first step waits for a reader
  double open_timeout = 0;    ///< seconds that a reader waits for the writer's contact file
  Networks hosts;             ///< of programs that may connect without the token
};

/// Throws InputError. Local: the network interface is that of this host.
SstOptions sst_options(Mode mode, Parameters &parameters);

// What every step of ours holds besides its variables, as JSON text in variables: attributes of ADIOS2 are sent only
// with the step in which they were set, and a reader may have missed that step.
inline const char *const sst_series_name = "tailrace/series"; ///< version, attributes, grid, number, steps left out
constexpr int sst_version = 3;                                ///< of these

// The two ends of a stream. Collective.
std::unique_ptr<Engine> open_sst_writer(const OpenRequest &request, const SstOptions &options);
std::unique_ptr<Engine> open_sst_reader(const OpenRequest &request, const SstOptions &options);

} // namespace tailrace::io
