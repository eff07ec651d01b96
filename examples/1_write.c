/* Writes a series: a field that is shared by the ranks, in nine steps, with its grid.
 *
 *   mpiexec -n 2 1_write_c waves.h5       or waves.bp, waves.sion, or waves: the ending of the path selects the format
 *   tailrace info waves.h5                shows what is in it
 *   tailrace plot waves.h5 --field ux --step 3 -o 1_write.png */
#include <tailrace/c_api/tailrace.h>

#include <math.h>

/* Every function returns 0 or an error, mostly the same on all ranks: it is printed once. */
static void check(int status) {
  if (status != 0) {
    tailrace_print_error(NULL);
    MPI_Abort(MPI_COMM_WORLD, status);
  }
}

int main(int argc, char **argv) {
  const double pi = 3.14159265358979323846;
  const int64_t points[] = {32, 24, 16}; /* in x, y, z */
  const double origin[] = {0, 0, 0}, lengths[] = {2 * pi, 2 * pi, 2 * pi};
  const double spacing[] = {2 * pi / 32, 2 * pi / 24, 2 * pi / 16};
  int64_t start[3], count[3]; /* the first point of this rank, from 0, and its number of points */
  static double ux[32 * 24 * 16];
  tailrace_decomposition *shared = NULL;
  tailrace_series *out = NULL;
  MPI_Init(&argc, &argv);

  /* Each rank has some planes of the box. A program with its own decomposition sets start and count itself. */
  check(tailrace_decomposition_new(&shared, MPI_COMM_WORLD, points, 0, 0));
  check(tailrace_decomposition_box(shared, 0, start, count));

  check(tailrace_new(&out));
  /* The grid is optional. With it, ParaView knows where the points are, and analyses can compute derivatives. */
  check(tailrace_set_grid(out, points, origin, spacing, lengths, "periodic,periodic,periodic"));
  check(tailrace_open(out, MPI_COMM_WORLD, argc > 1 ? argv[1] : "waves.h5", "w", NULL));
  check(tailrace_set_attribute_text(out, "ux/units", "m/s"));
  for (int step = 0; step < 9; ++step) {
    const double time = 0.5 * step;
    for (int64_t n = 0; n < count[0] * count[1] * count[2]; ++n) { /* x is fastest in memory */
      const double x = spacing[0] * (start[0] + n % count[0]), y = spacing[1] * (start[1] + n / count[0] % count[1]),
                   z = spacing[2] * (start[2] + n / (count[0] * count[1]));
      ux[n] = exp(-time / 4) * (sin(x - time) * cos(y) + cos(z) / 2);
    }
    check(tailrace_begin_step(out, 10 * step, time)); /* the number of the time step in the simulation, and its time */
    check(tailrace_write_double(out, "ux", 3, points, start, count, NULL, ux)); /* NULL: no ghost points */
    check(tailrace_end_step(out)); /* the step is complete, whatever happens to the program later */
  }
  check(tailrace_close(out));
  tailrace_free(&out);
  tailrace_decomposition_free(&shared);
  return MPI_Finalize();
}
