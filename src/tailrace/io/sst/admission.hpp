#pragma once

#include <tailrace/io/sst/tcp_sockets.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// Which readers ADIOS2 has admitted to the streams that this process writes. SST admits the readers that have
/// registered at the end of a step, and tells nobody: up to ADIOS2 2.12.1 no call, callback, status or statistic of the
/// writer says how many readers there are. Our own readers say it on the control channel, a little later. For all
/// others we conclude it from the bytes that were sent on ADIOS2's connections, and their number is a property of one
/// version of ADIOS2. With any other version nothing is concluded: a reader counts as admitted when its connection is
/// there, so that it may not get the step at whose end ADIOS2 admits it. Local.
class Admission {
public:
  /// `version`: of ADIOS2, for tests.
  explicit Admission(std::string version = adios2_version());

  /// The version of ADIOS2 that this was compiled with; "" without ADIOS2.
  static std::string adios2_version();
  /// What follows, for the notes of the series, when ADIOS2 is not of the version that this was verified with; else "".
  std::string note() const;

  /// Ports at which ADIOS2 listens for readers in this process. It opens them for the first stream, and uses them for
  /// all.
  static void add_ports(const std::set<int> &ports);
  /// Whether the ports are known, so that readers can be seen at all.
  static bool visible();
  /// The connections from readers.
  static std::vector<TcpConnection> connections();

  /// Whether ADIOS2 has admitted the reader at the other end.
  bool admitted(const TcpConnection &connection) const;
  /// Whether the reader has been answered, and waits to be admitted.
  bool pending(const TcpConnection &connection) const;
  /// Bytes sent to readers so far.
  static std::uint64_t sent();
  /// Whether a reader was admitted since `sent` returned `before`.
  bool admitted_since(std::uint64_t before) const;

private:
  std::string version_;
  bool verified_;
};

} // namespace tailrace::io
