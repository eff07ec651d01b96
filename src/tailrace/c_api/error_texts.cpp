#include <tailrace/c_api/handles.hpp>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

constexpr std::chrono::seconds first_word{5}; // for rank 0, whose program mostly ends all ranks when it has spoken

thread_local char error_text[4096] = ""; // not a string: storing an error must not run out of memory

/// Rank in MPI_COMM_WORLD; 0 where MPI does not run.
int world_rank() {
  int begun = 0, ended = 0, rank = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun != 0 && ended == 0)
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

} // namespace

int tailrace::c_api::failed(const char *function, int status, const char *text) {
  std::snprintf(error_text, sizeof error_text, "%s: %s", function, text);
  return status;
}

const char *tailrace_error_text(void) { return error_text; }

void tailrace_print_error(const char *text) {
  const char *said = text == nullptr ? error_text : text;
  const int rank = world_rank();
  if (rank == 0) {
    std::fprintf(stderr, "%s\n", said);
  } else {
    std::this_thread::sleep_for(first_word);
    std::fprintf(stderr, "[rank %d] %s\n", rank, said); // still here: rank 0 does not have this error
  }
  std::fflush(stderr);
}
