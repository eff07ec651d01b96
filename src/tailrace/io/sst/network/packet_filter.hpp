#pragma once

#include <tailrace/io/sst/network/networks.hpp>

#include <linux/filter.h>

#include <string>
#include <vector>

namespace tailrace::io {

/// A program for the system's packet filter: keep packets from `hosts`. It has one instruction for each host, and the
/// system translates each into one of its own: the programs of a socket together must be small (net.core.optmem_max,
/// 20 KiB on many systems). Local.
std::vector<sock_filter> filter_of(const Networks &hosts);

/// Lets the system drop packets for a listening socket unless they come from `hosts`. If it refuses a filter of this
/// length, whole networks around the hosts are let in; if it refuses every filter, the socket stays as it was. Returns
/// a note for the user about this, or "". Local.
std::string set_filter(int socket, const Networks &hosts);

} // namespace tailrace::io
