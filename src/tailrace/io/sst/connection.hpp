#pragma once

#include <tailrace/io/sst/network/stream_end.hpp>
#include <tailrace/io/sst/sst_options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/sst/control/writer_channel.hpp>
#include <tailrace/io/sst/network/contact_file.hpp>
#include <tailrace/io/sst/stream_notes.hpp>

#include <adios2.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace tailrace::io {

/// The connection of a reader to the writer of a stream: finds the contact file, is admitted by ADIOS2, and says on the
/// control channel of our writer who it is. The time limits of ADIOS2 are not reliable: when the writer does not
/// answer, we cut its connections, so that ADIOS2 takes it for dead.
class SstConnection {
public:
  using Clock = std::chrono::steady_clock;

  /// Waits for the contact file of a living writer, as long as the options say. Collective; the same error on all
  /// ranks.
  SstConnection(const OpenRequest &request, const SstOptions &options);

  /// An engine that was not closed, usually because the writer was lost, is never destroyed: a thread of ADIOS2 may
  /// still use its connections.
  ~SstConnection();
  SstConnection(const SstConnection &) = delete;
  SstConnection &operator=(const SstConnection &) = delete;

  /// Waits up to `timeout` seconds to be admitted, which ADIOS2 does only at the end of a step. Collective; the same
  /// error on all ranks.
  void open(double timeout);
  bool is_open() const { return static_cast<bool>(engine_); }
  void close(); ///< and tells the writer. Collective; throws what ADIOS2 throws

  adios2::IO &io() { return io_; }
  adios2::Engine &engine() { return engine_; }
  WriterChannel &channel() { return channel_; } ///< rank 0's

  /// Makes ADIOS2 take the writer for dead, because it does not answer. When other ranks are inside ADIOS2 too (`alone`
  /// is false), ADIOS2 would never return there: then this ends the program. Local.
  void cut_writer(bool alone) const;

  /// The text of the error when the writer is lost while `what` is read.
  std::string lost(const std::string &what) const;

  /// The text of the error when the writer's steps are of a version that we cannot read.
  std::string other_version(std::int64_t version) const;

private:
  bool root() const { return request_.comm.rank() == 0; }
  void await_writer(Clock::time_point end, double timeout) const;
  std::string call_writer(double seconds);
  bool welcome_here(const ContactFile::Record &record) const;
  void allow_writer() const;
  void check_time(Clock::time_point end, double timeout) const;
  void meet_writer();
  bool try_open(double timeout);

  OpenRequest request_;
  SstOptions options_;
  ContactFile contact_;
  std::set<std::uint64_t> foreign_sockets_; ///< sockets that are older than those of ADIOS2
  mutable WriterChannel channel_;           ///< of rank 0; mutable, because asking it reads the socket
  StreamEnd readers_;                       ///< of rank 0
  StreamNotes notes_;                       ///< rank 0's
  bool closed_ = false;
  adios2::ADIOS adios_;
  adios2::IO io_;
  adios2::Engine engine_;
};

} // namespace tailrace::io

#endif
