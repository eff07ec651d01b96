// Runs GoogleTest on every rank. Rank 0 prints the usual report, the other ranks print only their failures. The exit
// code is that of the rank with the worst result.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::seconds(15);

// Prints each failure with its rank, and keeps the ranks together after each test. Without this, a rank that leaves a
// test early would enter the collective calls of the next test while the others still wait in the current test.
class RankListener : public testing::EmptyTestEventListener {
public:
  explicit RankListener(int rank) : rank_(rank) { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  ~RankListener() override { MPI_Comm_free(&comm_); }

  void OnTestPartResult(const testing::TestPartResult &result) override {
    if (rank_ == 0 || !result.failed())
      return;
    const char *file = result.file_name() ? result.file_name() : "unknown file";
    std::printf("[rank %d] %s:%d: Failure\n%s\n", rank_, file, result.line_number(), result.message());
    std::fflush(stdout);
  }

  void OnTestEnd(const testing::TestInfo &info) override {
    const auto start = Clock::now();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) {
      if (info.result()->Failed() && Clock::now() - start > patience) {
        std::printf("[rank %d] %s.%s failed here and other ranks do not return from it: giving up\n", rank_,
                    info.test_suite_name(), info.name());
        std::fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

private:
  int rank_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

} // namespace

int main(int argc, char **argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);

  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0)
    delete listeners.Release(listeners.default_result_printer());
  auto *listener = new RankListener(rank);
  listeners.Append(listener);

  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  delete listeners.Release(listener); // the communicator of the listener must be freed before MPI_Finalize
  MPI_Finalize();
  return failed;
}
