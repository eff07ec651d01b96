#include <tailrace/grid/shared_memory.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tailrace {

#ifdef __linux__

namespace {

/// A file descriptor that closes itself.
class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const { return fd_; }

private:
  int fd_;
};

[[noreturn]] void fail(const char *what) {
  throw Error(fmt::format("memory cannot be shared between the ranks of this node: {}: {}; choose parallel.transpose = "
                          "\"alltoall\"",
                          what, std::strerror(errno)));
}

/// Anonymous memory has no name that could outlive a crash and no size limit but the machine's; the others open it
/// through the first rank's table of open files.
int open_memory(const Communicator &comm, std::int64_t total) {
  int fd = -1;
  comm.agree([&] {
    if (comm.rank() != 0)
      return;
    fd = memfd_create("tailrace", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, total) != 0)
      fail("memfd_create");
  });
  const std::string path = comm.broadcast(fmt::format("/proc/{}/fd/{}", getpid(), fd), 0);
  if (comm.rank() != 0)
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  return fd;
}

} // namespace

std::shared_ptr<std::byte> share_memory(const Communicator &comm, std::int64_t bytes) {
  const std::int64_t before = comm.exclusive_scan(bytes), total = std::max<std::int64_t>(1, comm.sum(bytes));
  comm.agree([&] {
    if (comm.split_node().size() != comm.size())
      throw Error("memory cannot be shared between ranks of different nodes; choose parallel.transpose = \"alltoall\"");
  });
  const Descriptor descriptor(open_memory(comm, total));
  std::shared_ptr<std::byte> whole;
  comm.agree([&] {
    if (descriptor.get() < 0)
      fail("open");
    void *mapped =
        mmap(nullptr, static_cast<std::size_t>(total), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    if (mapped == MAP_FAILED)
      fail("mmap");
    madvise(mapped, static_cast<std::size_t>(total), MADV_HUGEPAGE); // advice only
    const auto size = static_cast<std::size_t>(total);
    whole.reset(static_cast<std::byte *>(mapped), [size](std::byte *p) { munmap(p, size); });
  });
  return {whole, whole.get() + before};
}

#else

std::shared_ptr<std::byte> share_memory(const Communicator &, std::int64_t) {
  throw Error("sharing memory between ranks is for Linux; choose parallel.transpose = \"alltoall\"");
}

#endif

bool can_share_memory(const Communicator &comm) {
  try {
    share_memory(comm, 64);
  } catch (const Error &) {
    return false;
  }
  return true;
}

} // namespace tailrace
