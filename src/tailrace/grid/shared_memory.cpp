#include <tailrace/grid/shared_memory.hpp>

#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tailrace::grid {

#ifdef __linux__

namespace {

constexpr std::int64_t large_page = std::int64_t{1} << 21;

std::int64_t round_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void fail(const char *what) {
  throw Error(fmt::format("memory cannot be shared between the ranks of this node: {}: {}; choose parallel.transpose = "
                          "\"alltoall\"",
                          what, std::strerror(errno)));
}

/// Makes memory without a name, which cannot stay behind after a crash and has no size limit but that of the machine.
/// The other ranks open it through the first rank's table of open files.
FileDescriptor open_memory(const Communicator &comm, std::int64_t total) {
  FileDescriptor file;
  comm.agree([&] {
    if (comm.rank() != 0)
      return;
    file = FileDescriptor(memfd_create("tailrace", MFD_CLOEXEC));
    if (!file || ftruncate(file.get(), total) != 0)
      fail("memfd_create");
  });
  const std::string path = comm.broadcast(fmt::format("/proc/{}/fd/{}", getpid(), file.get()), 0);
  return comm.rank() == 0 ? std::move(file) : FileDescriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
}

/// Maps so many bytes of a file at an address that is a multiple of the large page. To find one, it reserves more
/// address space than needed and returns the rest.
std::shared_ptr<std::byte> map_aligned(int descriptor, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes), room = size + static_cast<std::size_t>(large_page);
  void *reserved = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    fail("mmap");
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved), unit = static_cast<std::uintptr_t>(large_page);
  auto *const at = static_cast<std::byte *>(reserved) + (unit - begin % unit) % unit;
  void *mapped = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    const int why = errno;
    munmap(reserved, room);
    errno = why;
    fail("mmap");
  }
  const std::size_t below = static_cast<std::size_t>(at - static_cast<std::byte *>(reserved));
  if (below > 0)
    munmap(reserved, below);
  const std::size_t end = (size + 4095) / 4096 * 4096;
  munmap(at + end, room - below - end);
  madvise(at, size, MADV_HUGEPAGE); // only advice; Linux before 6.1 may follow it
  return {at, [size](std::byte *p) { munmap(p, size); }};
}

} // namespace

std::shared_ptr<std::byte> share_memory(const Communicator &comm, std::int64_t bytes) {
  const std::int64_t before = comm.exclusive_scan(bytes), sum = std::max<std::int64_t>(1, comm.sum(bytes));
  const std::int64_t total =
      sum < large_page ? sum : round_up(sum, large_page); // so that its last page can be a large one
  comm.agree([&] {
    if (comm.split_node().size() != comm.size())
      throw Error("memory cannot be shared between ranks of different nodes; choose parallel.transpose = \"alltoall\"");
  });
  const FileDescriptor descriptor = open_memory(comm, total);
  std::shared_ptr<std::byte> whole;
  comm.agree([&] {
    if (!descriptor)
      fail("open");
    whole = map_aligned(descriptor.get(), total);
  });
  return {whole, whole.get() + before};
}

void use_large_pages(const std::byte *memory, std::int64_t bytes) {
#ifndef MADV_COLLAPSE // Linux 6.1; the C library may be older than the system
  constexpr int MADV_COLLAPSE = 25;
#endif
  if (bytes < large_page)
    return;
  for (std::int64_t at = 0; at < bytes; at += 4096) // the system builds a large page from pages that exist
    static_cast<void>(*static_cast<const volatile std::byte *>(memory + at));
  const auto unit = static_cast<std::uintptr_t>(large_page), begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t from = begin / unit * unit,
                       to = (begin + static_cast<std::uintptr_t>(bytes) + unit - 1) / unit * unit;
  madvise(reinterpret_cast<void *>(from), to - from, MADV_COLLAPSE);
}

#else

void use_large_pages(const std::byte *, std::int64_t) {}

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

} // namespace tailrace::grid
