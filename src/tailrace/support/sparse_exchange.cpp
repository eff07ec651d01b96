#include <tailrace/support/sparse_exchange.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <limits>

namespace tailrace {

namespace {

constexpr int tag = 29793; // of no other messages: they may come while a rank is still here

/// Receives a message that is there, if there is one.
bool receive_one(const Communicator &comm, std::map<int, std::string> &found) {
  int there = 0, bytes = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, comm.get(), &there, &message, &status), "MPI_Improbe");
  if (there == 0)
    return false;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  std::string &text = found[status.MPI_SOURCE];
  text.resize(static_cast<std::size_t>(bytes));
  check_mpi(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  return true;
}

} // namespace

// The nonblocking consensus of Hoefler, Siebert and Lumsdaine (PPoPP 2010): a synchronous send is complete when its
// message is received; who has completed its own enters a barrier and goes on receiving until all have entered.
std::map<int, std::string> exchange_sparse(const Communicator &comm, const std::map<int, std::string> &outgoing) {
  comm.agree([&] { // also so that no message of this exchange comes to a rank that is in the one before
    for (const auto &[rank, text] : outgoing)
      if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw Error(fmt::format("a message to rank {} has {} bytes, more than MPI counts", rank, text.size()));
  });
  std::vector<MPI_Request> sends;
  for (const auto &[rank, text] : outgoing)
    check_mpi(
        MPI_Issend(text.data(), static_cast<int>(text.size()), MPI_BYTE, rank, tag, comm.get(), &sends.emplace_back()),
        "MPI_Issend");
  std::map<int, std::string> found;
  MPI_Request all = MPI_REQUEST_NULL;
  for (int ended = 0; ended == 0;) {
    while (receive_one(comm, found)) {
    }
    int sent = 0;
    if (all != MPI_REQUEST_NULL) {
      check_mpi(MPI_Test(&all, &ended, MPI_STATUS_IGNORE), "MPI_Test");
      continue;
    }
    check_mpi(MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (sent != 0)
      check_mpi(MPI_Ibarrier(comm.get(), &all), "MPI_Ibarrier");
  }
  return found;
}

} // namespace tailrace
