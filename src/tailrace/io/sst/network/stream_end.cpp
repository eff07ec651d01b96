#include <tailrace/io/sst/network/stream_end.hpp>

#include <tailrace/io/data/json.hpp>
#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/process_identity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>

namespace tailrace::io {

using nlohmann::json;

StreamEnd StreamEnd::gather(const Communicator &comm) {
  const json own{{"host", this_process().host}, {"process", this_process().pid}, {"addresses", own_addresses()}};
  StreamEnd end;
  std::set<std::string> addresses;
  for (const std::string &text : comm.gather(json_text(own), 0)) {
    const json one = parse_json(text);
    end.ranks.push_back({one["host"], one["process"]});
    for (const std::string address : one["addresses"])
      if (address != "127.0.0.1" && addresses.insert(address).second)
        end.addresses.push_back(address);
  }
  return end;
}

void StreamEnd::check_distinct(const std::string &stream, bool patched) const {
  if (patched)
    return;
  std::vector<Rank> sorted = ranks;
  std::sort(sorted.begin(), sorted.end(), [](const Rank &a, const Rank &b) { return a.process < b.process; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Rank &a = sorted[i - 1], &b = sorted[i];
    // The clocks of two hosts may differ a little. On one host, await_same_time makes the times equal.
    if (b.process - a.process <= (a.host == b.host ? 0 : 1))
      throw IoError(fmt::format(
          "cannot open the stream {}: this ADIOS2 may take process {} on {} for process {} on {}, because it makes "
          "their numbers of process and time, and the program would end with an error. To fix this, use the ADIOS2 "
          "that tools/build_adios2.sh builds, or start again so that the processes have other numbers",
          stream, a.process, a.host, b.process, b.host));
  }
}

Networks from_root(const Communicator &comm, const Networks &networks) {
  const std::vector<Network> all = comm.broadcast(std::vector<Network>(networks.begin(), networks.end()), 0);
  return {all.begin(), all.end()};
}

void await_same_time(const Communicator &comm) {
  if (adios2_is_patched() || comm.size() == 1)
    return;
  using SystemClock = std::chrono::system_clock;
  const auto next =
      std::chrono::floor<std::chrono::seconds>(SystemClock::now()).time_since_epoch() + std::chrono::seconds(1);
  const std::int64_t begin = comm.broadcast_value(std::int64_t{next.count()}, 0);
  std::this_thread::sleep_until(SystemClock::time_point(std::chrono::seconds(begin)));
}

} // namespace tailrace::io
