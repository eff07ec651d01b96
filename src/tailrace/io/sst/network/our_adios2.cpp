#include <tailrace/io/sst/network/our_adios2.hpp>

#include <tailrace/io/sst/network/tcp_sockets.hpp>

#include <algorithm>
#include <vector>

extern "C" {
__attribute__((weak)) void tailrace_adios2_ask(int (*ask)(int socket, int accepted));
__attribute__((weak)) int tailrace_adios2_port();
__attribute__((weak)) void *tailrace_adios2_stream();
__attribute__((weak)) int tailrace_adios2_readers(void *stream, int *sockets, int room, int *waiting);
}

namespace tailrace::io {

bool adios2_is_patched() { return tailrace_adios2_ask != nullptr && tailrace_adios2_readers != nullptr; }

std::string adios2_note(bool patched) {
  return patched ? ""
                 : "this ADIOS2 is not the one that tools/build_adios2.sh builds: every host can connect to it, so use "
                   "it on a trusted network only; and it does not tell when it admits a reader: one of another program "
                   "counts from the moment it connects, and may miss the first step after that, also with "
                   "wait_for_reader";
}

void ask_about_sockets(int (*ask)(int socket, int accepted)) {
  if (adios2_is_patched())
    tailrace_adios2_ask(ask);
}

int adios2_port() { return adios2_is_patched() ? tailrace_adios2_port() : 0; }

AskReaders readers_of_last_stream() {
  if (!adios2_is_patched())
    return [] {
      AdmittedReaders result;
      for (const TcpConnection &one : accepted_connections())
        result.ends.insert(one.peer);
      return result;
    };
  return [stream = tailrace_adios2_stream(), sockets = std::vector<int>(8)]() mutable {
    AdmittedReaders result;
    int ever = 0, waiting = 0;
    while ((ever = tailrace_adios2_readers(stream, sockets.data(), static_cast<int>(sockets.size()), &waiting)) >
           static_cast<int>(sockets.size()))
      sockets.resize(2 * static_cast<std::size_t>(ever));
    result.told = true;
    result.ever = ever;
    result.waiting = waiting;
    for (int reader = 0; reader < ever; ++reader)
      if (const int socket = sockets[static_cast<std::size_t>(reader)]; socket >= 0)
        result.ends.insert(peer_of(socket));
    return result;
  };
}

} // namespace tailrace::io
