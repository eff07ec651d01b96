/* Writes the steps of a field that is split between the ranks, and reads the last plane on every rank. */
#include <stdio.h>
#include <tailrace/c_api/tailrace.h>
static void check(int status) {
  if (status != 0 && fprintf(stderr, "%s\n", tailrace_error_text()))
    MPI_Abort(MPI_COMM_WORLD, status);
}
int main(int argc, char **argv) {
  int64_t shape[] = {9, 7, 5}, corner[] = {0, 0, 4}, plane[] = {9, 7, 1}, start[3], n[3]; /* start counts from 0 */
  double ux[9 * 7 * 5];
  tailrace_decomposition *shared = NULL;
  tailrace_series *series = NULL;
  MPI_Init(&argc, &argv);
  check(tailrace_decomposition_new(&shared, MPI_COMM_WORLD, shape, 0, 0) ||
        tailrace_decomposition_box(shared, 0, start, n));
  check(tailrace_new(&series) || tailrace_open(series, MPI_COMM_WORLD, argv[argc - 1], "w", NULL));
  for (int step = 1; step <= 3; ++step) {
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; ++i) {
      int64_t x = start[0] + i % n[0], y = start[1] + i / n[0] % n[1], z = start[2] + i / n[0] / n[1];
      ux[i] = x + 10 * y + 100 * z + 1000 * step;
    }
    check(tailrace_begin_step(series, step, 0.25 * step));
    check(tailrace_write_double(series, "ux", 3, shape, start, n, NULL, ux) || tailrace_end_step(series));
  }
  check(tailrace_close(series) || tailrace_open(series, MPI_COMM_WORLD, argv[argc - 1], "r", NULL));
  check(tailrace_read_double(series, 2, "ux", 3, corner, plane, ux) || tailrace_close(series));
  tailrace_free(&series);
  tailrace_decomposition_free(&shared);
  return MPI_Finalize() || ux[9 * 7 - 1] != 3468;
}
