#pragma once

#include <tailrace/io/sst/options.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/sst/contact_file.hpp>
#include <tailrace/io/sst/reader_channels.hpp>

#include <adios2.h>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace tailrace::io {

/// A reader's way to the writer of a stream: finds its contact file, is admitted by ADIOS2, and tells our writer's
/// control channel who it is. ADIOS2 has no time limits that hold: where the writer does not answer, its connections
/// are cut, and to ADIOS2 it has died.
class SstConnection {
public:
  using Clock = std::chrono::steady_clock;

  /// Waits for a contact file of a writer that lives, as long as the options say. Collective; the same error on all
  /// ranks.
  SstConnection(const Target &target, const SstOptions &options);

  /// What was not closed, above all because the writer was lost, stays until the program ends: ADIOS2's own thread may
  /// be at work on its connections, and would find it gone.
  ~SstConnection();
  SstConnection(const SstConnection &) = delete;
  SstConnection &operator=(const SstConnection &) = delete;

  /// Waits up to `timeout` seconds to be admitted, which ADIOS2 does at the end of a step only. Collective; the same
  /// error on all ranks.
  void open(double timeout);
  bool is_open() const { return static_cast<bool>(engine_); }
  void close(); ///< tells the writer. Collective; throws what ADIOS2 throws

  adios2::IO &io() { return io_; }
  adios2::Engine &engine() { return engine_; }
  WriterChannel &channel() { return channel_; } ///< rank 0's

  /// The writer does not answer: to ADIOS2 it shall have died. Where ranks other than the one that waits are inside
  /// ADIOS2 too (`alone` is false), it would leave them there for ever, and only the end of the program helps.
  void cut_writer(bool alone) const;

  /// That the writer is gone, when `what` was asked for.
  std::string lost(const std::string &what) const;

  /// That the writer's steps are of a version that we do not know.
  std::string other_version(int version) const;

private:
  bool root() const { return target_.comm.rank() == 0; }
  void await_writer(Clock::time_point end, double timeout) const;
  void call_writer();
  void meet_writer();
  bool try_open(double timeout);

  Target target_;
  SstOptions options_;
  StreamContact contact_;
  std::set<std::uint64_t> foreign_sockets_; ///< that were there before ADIOS2's
  mutable WriterChannel channel_;           ///< rank 0's; asked, it reads what has arrived
  std::string token_;
  bool closed_ = false;
  adios2::ADIOS adios_;
  adios2::IO io_;
  adios2::Engine engine_;
};

} // namespace tailrace::io

#endif
