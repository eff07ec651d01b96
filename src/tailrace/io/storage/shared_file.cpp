#include <tailrace/io/storage/shared_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace::io {

Transfer transfer_named(const std::string &name) {
  return name == "collective" ? Transfer::collective : Transfer::independent;
}

SharedFile::SharedFile(const Communicator &comm, const std::string &path, bool will_sync, Transfer transfer,
                       double failure_timeout)
    : comm_(comm), path_(path), writeback_(will_sync) {
  comm.agree([&] { file_ = FileDescriptor(path, O_WRONLY); });
  if (transfer == Transfer::collective)
    mpi_file_ = std::make_shared<MpiFile>(comm, path, Hints{}, transfer, failure_timeout);
}

void SharedFile::write(std::int64_t offset, const Block &block) {
  if (mpi_file_)
    return mpi_file_->write(offset, block);
  comm_.agree([&] {
    if (!block.place.block.empty())
      write_block(file_.get(), path_, offset, {{0, 0, 0}, block.place.shape}, block, &writeback_);
  });
}

void SharedFile::sync() const {
  comm_.agree([&] {
    if (file_ && ::fsync(file_.get()) != 0)
      throw file_error("sync", path_, errno);
  });
}

} // namespace tailrace::io
