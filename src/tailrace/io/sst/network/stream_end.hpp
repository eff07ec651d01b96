#pragma once

#include <tailrace/io/sst/network/networks.hpp>
#include <tailrace/io/sst/network/our_adios2.hpp>
#include <tailrace/support/communicator.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Where the ranks of one end of a stream run. On rank 0; empty elsewhere.
struct StreamEnd {
  struct Rank {
    std::string host;
    std::int64_t process = 0;
  };
  std::vector<Rank> ranks;
  std::vector<std::string> addresses; ///< of all of their hosts, each once

  /// Collective.
  static StreamEnd gather(const Communicator &comm);
  /// Throws IoError if ADIOS2 may take two of the ranks for one, so that what is sent to one reaches the other. It
  /// knows a rank only by a number made of its process number and the time, unless it has our changes. Local.
  void check_distinct(const std::string &stream, bool patched = adios2_is_patched()) const;
};

/// What rank 0 has, on all ranks. Collective.
Networks from_root(const Communicator &comm, const Networks &networks);

/// Waits, where ADIOS2 is not ours, until a second has just begun, so that the numbers of ranks that open a stream
/// together are made of the same time. Collective.
void await_same_time(const Communicator &comm);

} // namespace tailrace::io
