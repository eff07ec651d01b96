#include <tailrace/support/file_watch.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <tuple>

namespace tailrace {

namespace {

using State = std::tuple<off_t, time_t, long>;

State state_of(const std::string &path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0)
    return {};
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

} // namespace

FileWatch::FileWatch(const Communicator &comm, const std::string &path, double seconds, const std::string &why) {
  if (comm.rank() != 0 || comm.size() == 1)
    return;
  ticks_.emplace(1, [path, seconds, why, last = state_of(path), idle = 0](int) mutable {
    const State now = state_of(path);
    idle = now == last ? idle + 1 : 0;
    last = now;
    if (idle >= seconds)
      end_program(fmt::format("{}. Nothing was written for {} s", why, idle));
  });
}

} // namespace tailrace
