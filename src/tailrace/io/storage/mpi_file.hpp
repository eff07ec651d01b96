#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/communicator.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// How the ranks' blocks travel into a shared file. `independent`: every rank writes its own, the quickest on a local
/// disk. `collective`: the ranks exchange them first, so that few write large pieces, for parallel file systems.
enum class Transfer { independent, collective };

using Hints = std::map<std::string, std::string>;

/// Makes sure that a file can be opened by MPI-IO, by us or by a library: to be called by every rank before any opens
/// it. Open MPI guards the opening by a semaphore that has the file's name, without its directory, for all programs of
/// the machine, and a program that is killed just then leaves it taken for ever. Local.
void release_name(const std::string &path);

/// A file that is there already, written by MPI-IO. Opening and closing are collective, also when an error is on its
/// way: let no MpiFile outlive the call that opened it.
class MpiFile {
public:
  /// `failure_timeout`: seconds that a collective write may stand still before it ends the program. Collective; the
  /// same error on all ranks.
  MpiFile(const Communicator &comm, const std::string &path, const Hints &hints, double failure_timeout);
  ~MpiFile();
  MpiFile(const MpiFile &) = delete;
  MpiFile &operator=(const MpiFile &) = delete;

  /// Writes a block of an array that begins at byte `offset`, and sums it where its checksum is wanted. The block is
  /// taken out of its memory box by an MPI type, without a copy of ours. Collective; the same error on all ranks.
  /// `will_sync`: sync will be called; independent writing prepares for it.
  void write(std::int64_t offset, const Block &block, Transfer transfer, bool will_sync = false);
  /// Waits until what all ranks wrote is on the disk. Collective; the same error on all ranks.
  void sync();
  /// The hints that the MPI library says are in effect. Local.
  Hints hints() const;

private:
  void check(int code, const char *verb) const;
  void write_pieces(std::int64_t offset, const Block &block, Transfer transfer, const std::vector<Box> &pieces,
                    bool will_sync);
  int write_piece(std::int64_t place, const Block &block, const Box &piece, Transfer transfer);

  Communicator comm_;
  std::string path_;
  double failure_timeout_;
  MPI_File file_ = MPI_FILE_NULL;
};

} // namespace tailrace::io
