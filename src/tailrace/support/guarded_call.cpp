#include <tailrace/support/guarded_call.hpp>

#include <tailrace/support/error.hpp>
#include <tailrace/support/file_watch.hpp>
#include <tailrace/support/watchdog.hpp>

#include <fmt/format.h>

#include <optional>

namespace tailrace {

void guarded_collective(const Communicator &comm, double timeout, const std::string &library,
                        const std::function<void()> &work) {
  std::optional<Watchdog> watchdog;
  comm.agree([&] {
    try {
      work();
    } catch (const Error &error) {
      if (comm.size() > 1)
        watchdog.emplace(timeout,
                         [why = fmt::format("{} (on rank {}). {} has not told the other ranks, and they have not "
                                            "come out of it for {:g} s",
                                            error.what(), comm.rank(), library, timeout)](int) { end_program(why); });
      throw;
    }
  });
}

void guarded_write(const Communicator &comm, double timeout, const std::string &library, const std::string &path,
                   const std::function<void()> &work) {
  const FileWatch watch(comm, path, timeout + 1,
                        fmt::format("cannot write {}: {} does not come back, which it does when a write fails on one "
                                    "rank",
                                    path, library));
  guarded_collective(comm, timeout, library, work);
}

} // namespace tailrace
