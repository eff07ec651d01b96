#include <tailrace/io/sst/network/admission.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#if TAILRACE_HAVE_ADIOS2
#include <adios2/common/ADIOSConfig.h>
#endif

namespace tailrace::io {

namespace {

constexpr std::string_view verified_version = "2.12.1";

std::set<int> &stream_ports() {
  static std::set<int> ports;
  return ports;
}

std::uint64_t bytes(const TcpConnection &one) { return one.bytes_sent + static_cast<std::uint64_t>(one.unsent); }

} // namespace

Admission::Admission(std::string version) : version_(std::move(version)), verified_(version_ == verified_version) {}

std::string Admission::adios2_version() {
#if TAILRACE_HAVE_ADIOS2
  return ADIOS2_VERSION_STR;
#else
  return "";
#endif
}

std::string Admission::note() const {
  if (verified_ || version_.empty())
    return "";
  return fmt::format("ADIOS2 is version {}, and only with {} can it be seen when ADIOS2 admits a reader: a reader of "
                     "another program counts from the moment it connects, and may miss the first step after that, also "
                     "with wait_for_reader",
                     version_, verified_version);
}

void Admission::add_ports(const std::vector<TcpListener> &listeners) {
  for (const TcpListener &one : listeners)
    stream_ports().insert(one.port);
}

int Admission::port() {
  for (const TcpListener &one : tcp_listeners())
    if (stream_ports().count(one.port) > 0)
      return one.port;
  return 0;
}

bool Admission::visible() { return !stream_ports().empty(); }

std::vector<TcpConnection> Admission::connections() { return tcp_connections(&stream_ports()); }

bool Admission::admitted(const TcpConnection &connection) const {
  return !verified_ || bytes(connection) > least_admission;
}

bool Admission::pending(const TcpConnection &connection) const {
  return !admitted(connection) && connection.bytes_sent > 0;
}

std::uint64_t Admission::sent() {
  std::uint64_t sum = 0;
  for (const auto &one : connections())
    sum += bytes(one);
  return sum;
}

} // namespace tailrace::io
