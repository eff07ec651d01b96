/* Uses the installed library from C: writes a line with one number per rank, and reads the last number. */
#include <stdio.h>
#include <tailrace/c_api/tailrace.h>

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t n = size, here = rank, last = size - 1, one = 1;
  double value = rank;
  tailrace_series *series = NULL;
  int status = tailrace_new(&series) || tailrace_open(series, MPI_COMM_WORLD, argv[1], "w", "hdf5") ||
               tailrace_begin_step(series, 1, 0.5) ||
               tailrace_write_double(series, "ranks", 1, &n, &here, &one, NULL, &value) || tailrace_end_step(series) ||
               tailrace_close(series) || tailrace_open(series, MPI_COMM_WORLD, argv[1], "r", NULL) ||
               tailrace_read_double(series, 0, "ranks", 1, &last, &one, &value) || tailrace_close(series);
  if (status != 0)
    fprintf(stderr, "%s\n", tailrace_error_text());
  tailrace_free(&series);
  status = status != 0 || value != size - 1;
  if (rank == 0)
    printf("consumer in C on %d ranks: %s\n", size, status == 0 ? "ok" : "wrong");
  MPI_Finalize();
  return status;
}
