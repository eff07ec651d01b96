#pragma once

#include <tailrace/io/data/block.hpp>
#include <tailrace/support/communicator.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// How the ranks write their blocks to a shared file. `independent`: every rank writes its own block, which is fastest
/// on a local disk. `collective`: the ranks first exchange the data, so that few ranks write large pieces, which suits
/// parallel file systems.
enum class Transfer { independent, collective };

using Hints = std::map<std::string, std::string>;

/// Makes sure that MPI-IO can open a file, for us or for a library. Every rank must call it before any rank opens the
/// file. Open MPI protects the opening by a semaphore named after the file, without its directory, for all programs of
/// the machine; a program that is killed at that moment leaves it locked for ever. Local.
void release_name(const std::string &path);

/// Throws IoError if MPI-IO would end the program on this path: Open MPI 4 puts it into 256 characters, to see whether
/// shared file pointers can be kept in a file beside it, unless that way is left out. Local.
void check_length(const std::string &path);

/// An existing file, written by MPI-IO. Opening is collective; with collective transfer closing is too, also while an
/// exception is thrown: so no MpiFile must outlive the call that opened it.
class MpiFile {
public:
  /// `failure_timeout`: seconds without progress after which an opening or a write of collective transfer ends the
  /// program. Collective. Throws the same error on all ranks.
  MpiFile(const Communicator &comm, const std::string &path, const Hints &hints, Transfer transfer,
          double failure_timeout);
  ~MpiFile();
  MpiFile(const MpiFile &) = delete;
  MpiFile &operator=(const MpiFile &) = delete;

  /// Writes a block of an array that begins at byte `offset`, and adds it to its checksum if there is one. An MPI type
  /// selects the block in its memory box, so that we copy nothing. `will_sync`: sync will be called, and independent
  /// writing prepares for it. Collective; the same error on all ranks.
  void write(std::int64_t offset, const Block &block, bool will_sync = false);
  /// Waits until the data of all ranks are on the disk. Collective. Throws the same error on all ranks.
  void sync();
  /// The hints that are in effect, according to the MPI library. Local.
  Hints hints() const;

private:
  void check(int code, const char *verb) const;
  int open(MPI_Info info);
  void close();
  void write_pieces(std::int64_t offset, const Block &block, const std::vector<Box> &pieces, bool will_sync);
  int write_piece(std::int64_t place, const Block &block, const Box &piece);

  Communicator comm_;
  std::string path_;
  Transfer transfer_;
  double failure_timeout_;
  MPI_File file_ = MPI_FILE_NULL;
};

} // namespace tailrace::io
