#pragma once

#include <tailrace/io/sst/network/networks.hpp>

#include <linux/filter.h>

#include <string>
#include <vector>

namespace tailrace::io {

/// A program for the system's filter of packets: keep those that come from `hosts`. It has one instruction for each
/// host, and each is one of those that the system translates it into: what the programs of a socket may take together
/// is little (net.core.optmem_max, 20 KiB in many systems). Local.
std::vector<sock_filter> filter_of(const Networks &hosts);

/// Has the system drop what comes to a listening socket from elsewhere than `hosts`. Where it takes no filter of this
/// length, whole networks around the hosts are let in; where it takes none at all, the socket stays as it was. Returns
/// what of this the user should know, else "". Local.
std::string set_filter(int socket, const Networks &hosts);

} // namespace tailrace::io
