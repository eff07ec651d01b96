#include <tailrace/io/sst/network/packet_filter.hpp>

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

namespace tailrace::io {

namespace {

constexpr std::uint32_t highest_bit = 0x80000000;
constexpr std::size_t hosts_of_block = 255; ///< a jump over more instructions does not fit into its eight bits
constexpr std::size_t fewest_networks = 8;  ///< a system that does not take so few takes no filter at all

const sock_filter keep = BPF_STMT(BPF_RET | BPF_K, ~std::uint32_t{0});
const sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);

/// Keeps packets whose masked source is one of `values`.
void add_comparisons(std::vector<sock_filter> &program, const std::vector<std::uint32_t> &values) {
  for (std::size_t begin = 0; begin < values.size(); begin += hosts_of_block) {
    const std::size_t end = std::min(begin + hosts_of_block, values.size());
    for (std::size_t i = begin; i + 1 < end; ++i)
      program.push_back(
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[i], static_cast<std::uint8_t>(end - 1 - i), 0)); // to `keep`
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, values[end - 1], 0, 1));
    program.push_back(keep);
  }
}

bool attach(int socket, std::vector<sock_filter> program) {
  if (program.size() > BPF_MAXINSNS) {
    errno = ENOMEM;
    return false;
  }
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

/// The system counts the old filter together with the new one. If both are too large, a filter that lets nobody in
/// comes in between: a program that asks for a connection at that moment asks again after a second.
bool replace(int socket, const std::vector<sock_filter> &program) {
  return attach(socket, program) ||
         (errno == ENOMEM && program.size() <= BPF_MAXINSNS && attach(socket, {drop}) && attach(socket, program));
}

bool has_filter(int socket) {
  socklen_t length = 0;
  return ::getsockopt(socket, SOL_SOCKET, SO_GET_FILTER, nullptr, &length) == 0 && length > 0;
}

Network largest(const Networks &networks) {
  return *std::min_element(networks.begin(), networks.end(),
                           [](const Network &a, const Network &b) { return a.mask < b.mask; });
}

} // namespace

std::vector<sock_filter> filter_of(const Networks &hosts) {
  constexpr auto source = static_cast<std::uint32_t>(SKF_NET_OFF + 12); // in the header of IP
  // The system needs two instructions to compare with a number above 2^31, hence the groups without the highest bit.
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::uint32_t>> groups;
  for (const Network &host : hosts)
    groups[{host.mask, host.address >= highest_bit}].push_back(host.address & ~highest_bit);
  std::vector<sock_filter> program;
  for (const auto &[kind, values] : groups) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, source));
    if (kind.first != ~std::uint32_t{0})
      program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kind.first));
    if (kind.second)
      program.push_back(BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, highest_bit));
    add_comparisons(program, values);
  }
  program.push_back(drop);
  return program;
}

std::string set_filter(int socket, const Networks &hosts) {
  std::string why;
  for (std::size_t most = hosts.size(); most > 0; most = most * 3 / 4) {
    const Networks all = widened(hosts, most);
    if (replace(socket, filter_of(all)))
      return why.empty() ? ""
                         : fmt::format("the system takes no filter for {} hosts ({}), so that the ports of ADIOS2 are "
                                       "open to networks around them, the largest of which is {}",
                                       hosts.size(), why, text_of(largest(all)));
    why = std::strerror(errno);
    if (errno != ENOMEM || most < fewest_networks)
      break;
  }
  return has_filter(socket)
             ? fmt::format("no readers on further hosts reach ADIOS2: the system does not change its filter ({})", why)
             : fmt::format("the ports of ADIOS2 are open to all hosts: the system takes no filter ({})", why);
}

} // namespace tailrace::io
