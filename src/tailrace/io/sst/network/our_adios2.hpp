#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace tailrace::io {

/// Whether this is the ADIOS2 that tools/build_adios2.sh builds, with the changes of tools/patch_adios2.py. Local.
bool adios2_is_patched();
/// What does not hold with any other ADIOS2, for the notes of the series; "" with ours. Local.
std::string adios2_note(bool patched = adios2_is_patched());

/// From now on ADIOS2 calls `ask` for each socket that it opens to connect (`accepted` is 0) or accepts (1), and closes
/// an accepted one where `ask` returns 0. Only our ADIOS2 does so. Local.
void ask_about_sockets(int (*ask)(int socket, int accepted));
/// The port at which ADIOS2 listens for the stream that this thread has opened last; 0: not known. Local.
int adios2_port();

/// The readers of a stream that this process writes. ADIOS2 admits at the end of a step those that have registered.
struct AdmittedReaders {
  bool told = false;     ///< by our ADIOS2; from any other, only the connections are known, and all are in `ends`
  std::int64_t ever = 0; ///< number of all that were admitted so far
  std::int64_t waiting = 0;
  std::set<std::string> ends; ///< of those that are there: their ends of the connections to rank 0, as peer_of
};
using AskReaders = std::function<AdmittedReaders()>;
/// Tells the readers of the stream that this thread has opened last, for as long as its engine exists, in the thread
/// that calls the engine. Local.
AskReaders readers_of_last_stream();

} // namespace tailrace::io
