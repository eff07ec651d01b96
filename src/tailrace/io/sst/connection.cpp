#include <tailrace/io/sst/connection.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/io/sst/network/host.hpp>
#include <tailrace/io/sst/network/port_guard.hpp>
#include <tailrace/io/sst/network/tcp_sockets.hpp>
#include <tailrace/support/process_identity.hpp>
#include <tailrace/support/watchdog.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace tailrace::io {

namespace {

using Clock = SstConnection::Clock;

constexpr double least_admission = 5; ///< seconds

double seconds_until(Clock::time_point end) { return std::chrono::duration<double>(end - Clock::now()).count(); }

} // namespace

SstConnection::SstConnection(const OpenRequest &request, const SstOptions &options)
    : request_(request), options_(options), contact_(request.path), readers_(StreamEnd::gather(request.comm)),
      notes_(request), adios_(request.comm.get()) {
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.open_timeout));
  request.comm.agree([&] {
    await_writer(end, options.open_timeout);
    readers_.check_distinct(request.path);
  });
  request.comm.barrier();
  for (const auto &one : tcp_connections())
    foreign_sockets_.insert(one.inode);
}

SstConnection::~SstConnection() {
  static auto &left_open = *new std::vector<adios2::ADIOS>; // never destroyed, see the header
  if (engine_ && !closed_)
    left_open.push_back(std::move(adios_));
}

std::string SstConnection::lost(const std::string &what) const {
  if (channel_.dropped())
    return fmt::format("cannot read {}: the connection is lost: the writer has dropped this reader, which had taken "
                       "nothing for as long as its `timeout` says",
                       what);
  return fmt::format(
      "cannot read {}: the connection is lost: the writer died, or dropped this reader because it was too "
      "slow (the writer's `timeout`)",
      what);
}

/// Waits, in rank 0, until there is the contact file of a living writer.
void SstConnection::await_writer(Clock::time_point end, double timeout) const {
  if (!root())
    return;
  while (!contact_.alive()) {
    if (seconds_until(end) <= 0)
      throw IoError(
          fmt::format("cannot read the stream {}: waited {:g} s, and {}. To fix this, start the writer, or wait "
                      "longer (OpenTimeoutSecs)",
                      request_.path, timeout, contact_.why_not()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (const auto record = contact_.record(); record && record->version != 0 && record->version != sst_version)
    throw IoError(other_version(record->version));
}

std::string SstConnection::other_version(std::int64_t version) const {
  return fmt::format("cannot read the stream {}: its steps are of version {}, and this Tailrace knows {}. To fix this, "
                     "use the same Tailrace on both sides",
                     request_.path, version, sst_version);
}

/// Whether the writer's hosts include ours, so that it lets us in without being asked. Several ranks ask nevertheless:
/// they cannot leave ADIOS2 again, which waits for the end of a step, and the writer answers when it has begun one.
bool SstConnection::welcome_here(const ContactFile::Record &record) const {
  return request_.comm.size() == 1 && covers(known_networks(record.hosts), known_networks(readers_.addresses));
}

/// Connects, in rank 0, to the writer's control channel, and waits until the writer lets us in, which it does at its
/// next step. Without a channel, ADIOS2 is tried nevertheless. Returns a reason not to try ADIOS2, or "": if nobody can
/// be reached at the address that it will use, it would try for minutes.
std::string SstConnection::call_writer(double seconds) {
  const auto record = contact_.record();
  if (!root() || !record)
    return "";
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  channel_.connect(record->addresses, record->port);
  channel_.call(record->token, readers_.addresses);
  while (!welcome_here(*record) && channel_.connected() && Clock::now() < end && !channel_.welcome(0.5) &&
         contact_.alive()) {
  }
  if (record->listens_at == 0 || Clock::now() >= end || reachable(record->listens, record->listens_at))
    return "";
  return fmt::format(
      "the writer gives the address {}, port {}, and this host ({}, with the addresses {}) does not reach "
      "it. To fix this, have the writer use a network that both share (NetworkInterface = NAME of the "
      "interface; with tailrace run: --beside-interface), or let the ports {} and {} through the firewall",
      record->listens, record->listens_at, this_process().host, fmt::join(own_addresses(), ", "), record->listens_at,
      record->port);
}

/// Lets the writer's hosts in. The hosts of another program are unknown, so all hosts may come. Collective.
void SstConnection::allow_writer() const {
  Networks writers = options_.hosts;
  if (const auto record = contact_.record(); root() && record)
    writers.merge(known_networks(record->hosts));
  else if (root() && writers.empty())
    writers = networks_from("any");
  PortGuard::allow(from_root(request_.comm, writers));
}

/// Throws when the time is over. Collective.
void SstConnection::check_time(Clock::time_point end, double timeout) const {
  request_.comm.agree([&] {
    if (root() && seconds_until(end) <= 0)
      throw IoError(fmt::format("cannot read the stream {}: no step came in {:g} s, and {}", request_.path, timeout,
                                contact_.alive() ? "the writer has not ended one since we are waiting, or has died"
                                                 : contact_.why_not()));
  });
}

/// Says, in rank 0, who we are, once ADIOS2 has been admitted. Collective.
void SstConnection::meet_writer() {
  const std::string problem = first_text(request_.comm, PortGuard::problem());
  if (!root())
    return;
  notes_.tell(problem);
  std::set<std::string> connections;
  for (const auto &one : tcp_connections())
    if (foreign_sockets_.count(one.inode) == 0)
      connections.insert(one.local);
  channel_.hello(request_.comm.size(), connections);
}

void SstConnection::cut_writer(bool alone) const {
  if (!alone)
    end_program(fmt::format("cannot read the stream {}: the writer does not answer", request_.path));
  for (const auto &one : tcp_connections())
    if (one.of_adios2 && foreign_sockets_.count(one.inode) == 0) // MPI may have connected ranks since
      cut(one);
}

/// Whether the writer has admitted us. False if nobody listens at the address in the contact file, or if the time is
/// over. Several ranks get some seconds at least: their attempt can only be ended together with the program.
bool SstConnection::try_open(double timeout) {
  io_ = adios_.DeclareIO("series");
  io_.SetEngine("SST");
  std::map<std::string, std::string> parameters = options_.engine;
  parameters.insert_or_assign("OpenTimeoutSecs", std::to_string(1)); // of the contact file, which is there
  io_.SetParameters(parameters);
  bool opened = false;
  const std::vector<TcpListener> before = tcp_listeners();
  await_same_time(request_.comm);
  request_.comm.barrier();
  {
    const std::jthread guard = PortGuard::watch(before, options_.timeout); // it listens while it waits for a step
    const Watchdog watchdog(std::max(timeout, request_.comm.size() > 1 ? least_admission : 0.0), [&](int) {
      if (root())
        cut_writer(request_.comm.size() == 1);
    });
    try {
      engine_ = io_.Open(request_.path, adios2::Mode::Read);
      opened = true;
    } catch (const std::exception &) { // ADIOS2's message does not say why
    }
  }
  if (!opened)
    adios_.RemoveIO("series");
  return request_.comm.max(std::int64_t{!opened}) == 0;
}

void SstConnection::open(double timeout) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  auto lost_since = Clock::now();
  while (true) {
    const double patience = std::min(seconds_until(end), options_.open_timeout); // the writer may end while we wait
    const auto found_by =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience));
    request_.comm.agree([&] { await_writer(found_by, std::max(patience, 0.0)); });
    allow_writer();
    const std::string why_not = request_.comm.from_root([&] { return call_writer(seconds_until(end)); });
    if (why_not.empty())
      lost_since = Clock::now();
    request_.comm.agree([&] {
      if (seconds_until(lost_since) < -options_.open_timeout)
        throw IoError(fmt::format("cannot read the stream {}: {}", request_.path, why_not));
    });
    check_time(end, timeout); // the writer may have let us wait until now
    if (why_not.empty() && try_open(seconds_until(end))) {
      meet_writer();
      return;
    }
    check_time(end, timeout);
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // a new writer may be replacing the file
  }
}

void SstConnection::close() {
  channel_.leave();
  engine_.Close();
  closed_ = true;
}

} // namespace tailrace::io

#endif
