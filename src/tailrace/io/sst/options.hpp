#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace tailrace::io {

/// What happens to a step when the slowest reader has `queue` steps to do.
enum class StreamPolicy {
  block,       ///< the writer waits
  drop_newest, ///< this step is left out
  drop_oldest, ///< the oldest step that is held is left out
  adapt        ///< this step is left out, as it is when the coupling has had its share of the time
};

/// What the parameters of a stream say, of the writer's and of the reader's end.
struct SstOptions {
  std::map<std::string, std::string> engine; ///< ADIOS2's own, ours filled in
  StreamPolicy policy = StreamPolicy::block;
  std::int64_t queue = 2;
  double share = 0;           ///< of the time, for `adapt`
  bool keeps_unread = false;  ///< ADIOS2 was asked to keep steps for a reader that is not there yet
  double timeout = 0;         ///< seconds that one end waits for the other
  double wait_for_reader = 0; ///< seconds that the first step waits for a reader
  double open_timeout = 0;    ///< seconds that a reader waits for the writer's contact file
};

/// Throws InputError. Local.
SstOptions sst_options(Mode mode, Parameters &parameters);

// What every step of ours holds besides its variables, as texts of JSON, since attributes of ADIOS2 come only with the
// step they were set in, which a reader may not have got.
inline const char *const sst_series_name = "tailrace/series"; ///< version, attributes, grid, number, what was left out
constexpr int sst_version = 3;                                ///< of these

// The two ends. Collective.
std::unique_ptr<Engine> open_sst_writer(const Target &target, const SstOptions &options);
std::unique_ptr<Engine> open_sst_reader(const Target &target, const SstOptions &options);

} // namespace tailrace::io
