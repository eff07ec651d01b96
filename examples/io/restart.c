/* Writes slabs with halos and a list of particles. A second run resumes after the first step, as after a restart. */
#include <tailrace/c_api/tailrace.h>

#include <stdio.h>
static void check(int status) {
  if (status != 0 && fprintf(stderr, "%s\n", tailrace_error_text()))
    MPI_Abort(MPI_COMM_WORLD, status);
}
int main(int argc, char **argv) {
  int rank, size, status = MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int64_t shape[] = {9, 7, size}, start[] = {0, 0, rank}, n[] = {9, 7, 1}, halo[] = {0, 0, 1}, first, found[3];
  double ux[9 * 7 * 3] = {0}, particles[] = {rank, 0.5, 0.25};
  tailrace_series *out = NULL;
  check(tailrace_new(&out));
  for (int run = 0; run < 2; ++run) {
    check((run == 1 && tailrace_set_rewind(out, 1)) || /* drops the steps after the first */
          tailrace_open(out, MPI_COMM_WORLD, argv[argc - 1], run == 0 ? "w" : "a", NULL));
    for (int64_t step = run + 1; step <= 3; ++step)
      check(tailrace_begin_step(out, step, 0.25 * step) ||
            tailrace_write_double(out, "ux", 3, shape, start, n, halo, ux) ||
            tailrace_write_list(out, "particles", TAILRACE_FLOAT64, 1, 3, particles) || tailrace_end_step(out));
    check(tailrace_close(out));
  }
  check(tailrace_open(out, MPI_COMM_WORLD, argv[argc - 1], "r", NULL) || tailrace_steps(out, &first));
  check(tailrace_variable(out, 2, "particles", found, NULL, NULL) || tailrace_close(out));
  tailrace_free(&out);
  return MPI_Finalize() || status || first != 3 || found[1] != size;
}
