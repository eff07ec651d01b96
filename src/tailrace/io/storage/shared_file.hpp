#pragma once

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/storage/file_array.hpp>
#include <tailrace/io/storage/mpi_file.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <memory>
#include <string>

namespace tailrace::io {

Transfer transfer_named(const std::string &name);

/// One file to which all ranks write their parts, with pwrite(2) or by collective MPI-IO. Global arrays in it are in
/// logical order, x fastest.
class SharedFile {
public:
  /// Opens an existing file to write. `will_sync`: sync will be called. `failure_timeout`: of collective
  /// transfer, see MpiFile. Collective; the same error on all ranks.
  SharedFile(const Communicator &comm, const std::string &path, bool will_sync, Transfer transfer,
             double failure_timeout);

  /// Writes a block of an array that begins at byte `offset`, and adds it to its checksum if there is one. Blocks of
  /// different ranks must not overlap. Collective; the same error on all ranks.
  void write(std::int64_t offset, const Block &block);
  /// Waits until the data of all ranks are on the disk. Collective. Throws the same error on all ranks.
  void sync() const;

private:
  Communicator comm_;
  std::string path_;
  FileDescriptor file_;
  Writeback writeback_;
  std::shared_ptr<MpiFile> mpi_file_; ///< only for collective transfer
};

} // namespace tailrace::io
