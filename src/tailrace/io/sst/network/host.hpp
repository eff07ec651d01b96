#pragma once

#include <string>
#include <vector>

namespace tailrace::io {

/// The addresses of a host by the system's names (/etc/hosts, DNS); empty if there are none. Local.
std::vector<std::string> addresses_of(const std::string &name);
/// Addresses at which other hosts may reach this one; the loopback address comes last. Local.
std::vector<std::string> own_addresses();
/// Names of the interfaces with these addresses, in the order of the system. Local.
std::vector<std::string> own_interfaces();
/// The interface with the address of this host's name, if there are several interfaces; else "". Local.
std::string own_interface();
/// The address of the first interface whose name begins with `name`, as ADIOS2 takes it; "": there is none. Local.
std::string address_of_interface(const std::string &name);

} // namespace tailrace::io
