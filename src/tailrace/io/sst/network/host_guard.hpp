#pragma once

#include <tailrace/io/sst/network/networks.hpp>

namespace tailrace::io {

/// Says which hosts may connect to ADIOS2 in this process. Our ADIOS2 asks about each connection before it reads from
/// it; any other ADIOS2 takes all. This host is always allowed. ADIOS2 uses the same ports for all streams of a
/// process, so that all add to the hosts. Local.
class HostGuard {
public:
  /// To be called before ADIOS2 opens a stream. A connection made from now on ends when the other side does not take
  /// what was sent for `seconds`.
  static void begin(double seconds);
  /// Allows these hosts too.
  static void allow(const Networks &hosts);
  /// Whether a host is allowed; none is not.
  static bool admits(const Networks &host);
};

} // namespace tailrace::io
