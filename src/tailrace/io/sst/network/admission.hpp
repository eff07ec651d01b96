#pragma once

#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// Which readers ADIOS2 has admitted to the streams that this process writes. SST admits the readers that have
/// registered at the end of a step, and tells nobody: up to ADIOS2 2.12.1 no call, callback, status or statistic of the
/// writer says how many readers there are. Our own readers say it on the control channel, a little later. For all
/// others we conclude it from the bytes that were sent on ADIOS2's connections, and their number is a property of one
/// version of ADIOS2. With any other version nothing is concluded: our readers count when they say who they are, and a
/// reader of another program counts when its connection is there. Local.
class Admission {
public:
  /// `version`: of ADIOS2, for tests.
  explicit Admission(std::string version = adios2_version());

  /// The version of ADIOS2 that this was compiled with; "" without ADIOS2.
  static std::string adios2_version();
  /// Whether ADIOS2 is of the version that the number of bytes was verified with.
  bool verified() const { return verified_; }
  /// The consequences if it is not, for the notes of the series; else "".
  std::string note() const;

  /// Ports at which ADIOS2 listens for readers in this process. It opens them for the first stream, and uses them for
  /// all.
  static void add_ports(const std::vector<TcpListener> &listeners);
  /// One of them; 0: none is known.
  static int port();
  /// Whether the ports are known, so that readers can be seen at all.
  static bool visible();
  /// The connections from readers.
  static std::vector<TcpConnection> connections();

  /// Whether ADIOS2 has admitted the reader at the other end; always, where nothing is concluded.
  bool admitted(const TcpConnection &connection) const;
  /// Whether the reader has been answered, and waits to be admitted.
  bool pending(const TcpConnection &connection) const;
  /// Bytes sent to readers so far.
  static std::uint64_t sent();
  /// Whether a reader was admitted since `sent` returned `before`. Only for the verified version.
  static bool admitted_since(std::uint64_t before) { return sent() > before + least_admission; }

private:
  /// Bytes. In the verified version the answer that admits a reader describes all ranks of the writer and has more than
  /// 2000, and the answer to the question about the data transport, which comes before, has less than 500.
  static constexpr std::uint64_t least_admission = 1000;

  std::string version_;
  bool verified_;
};

} // namespace tailrace::io
