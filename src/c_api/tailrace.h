/* Tailrace's series for programs in C, and what the Fortran module stands on.
 *
 *     tailrace_series *out;
 *     tailrace_new(&out);
 *     tailrace_open(out, MPI_COMM_WORLD, "run.bp", "w", NULL);
 *     tailrace_begin_step(out, 100, 0.25);
 *     tailrace_write_double(out, "ux", 3, shape, start, count, NULL, ux);
 *     tailrace_end_step(out);
 *     tailrace_close(out);
 *     tailrace_free(&out);
 *
 * Every function that can fail returns 0 or one of the errors below, and tailrace_error_text() says what was wrong. All
 * are collective over the communicator and fail on all ranks together, but for those marked local. What each does is
 * described in <tailrace/io/series.hpp>.
 *
 * Indices count from 0, in the order x, y, z; x is fastest in memory. Grid variables are float or double and have three
 * dimensions; `dimensions` may be 1 or 2, then they are stored as (n, 1, 1) or (nx, ny, 1) and come back as that. There
 * are no integer and no four-dimensional variables: write components as variables of their own.
 *
 * Call MPI_Init before the first of these functions, and close and free everything before MPI_Finalize. */
#ifndef TAILRACE_H
#define TAILRACE_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tailrace_status {
  TAILRACE_OK = 0,
  TAILRACE_INPUT_ERROR = 1, /* the caller asked for something impossible */
  TAILRACE_IO_ERROR = 2,    /* the file system or the files do not allow it */
  TAILRACE_OTHER_ERROR = 3
};

/* How the numbers of a grid variable are stored. */
enum tailrace_type { TAILRACE_FLOAT32 = 4, TAILRACE_FLOAT64 = 8 };

/* What was wrong in this thread's last call that failed; valid until the next one fails. Never NULL. Local. */
const char *tailrace_error_text(void);

/* ---- decomposition: optional, for programs that do not have their own ---- */

typedef struct tailrace_decomposition tailrace_decomposition;

/* Shares `shape` (three numbers) over rows x cols ranks; 0 for one of them: what the other leaves, 0 for both: slabs.
 */
int tailrace_decomposition_new(tailrace_decomposition **decomposition, MPI_Comm comm, const int64_t *shape, int rows,
                               int cols);
/* The same with the handle of a Fortran communicator. */
int tailrace_decomposition_new_f(tailrace_decomposition **decomposition, MPI_Fint comm, const int64_t *shape, int rows,
                                 int cols);
/* This rank's box in the pencil that is whole along `direction`: 0 is x, 1 is y, 2 is z. Local. */
int tailrace_decomposition_box(const tailrace_decomposition *decomposition, int direction, int64_t *start,
                               int64_t *count);
/* Sets the handle to NULL. NULL is ignored. */
void tailrace_decomposition_free(tailrace_decomposition **decomposition);

/* ---- series ---- */

typedef struct tailrace_series tailrace_series;

/* A handle, not open yet. Local. */
int tailrace_new(tailrace_series **series);
/* Settings of the next tailrace_open, which alone uses them. Same on every rank; local. */
int tailrace_set_parameter(tailrace_series *series, const char *name, const char *value);
/* Point i of direction d is at origin[d] + i * spacing[d]: lets ParaView draw the variables where they belong. */
int tailrace_set_grid(tailrace_series *series, const int64_t *points, const double *origin, const double *spacing);
/* Appending: drop the steps whose index is larger. */
int tailrace_set_rewind(tailrace_series *series, int64_t index);
/* Mode "w" writes, "a" appends, "r" reads. Engine "bp5", "hdf5", "raw"; NULL or "" chooses by the path. */
int tailrace_open(tailrace_series *series, MPI_Comm comm, const char *path, const char *mode, const char *engine);
/* The same with the handle of a Fortran communicator. */
int tailrace_open_f(tailrace_series *series, MPI_Fint comm, const char *path, const char *mode, const char *engine);
/* An open step is dropped. Also after an error the series is closed, and may be opened again. */
int tailrace_close(tailrace_series *series);
/* Sets the handle to NULL. A series that is still open keeps its complete steps. NULL is ignored. */
void tailrace_free(tailrace_series **series);

/* ---- writing ---- */

/* Optional: fixes the shape and the stored type, which otherwise the first write does. */
int tailrace_declare(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, int type);
/* `index` must be larger than that of the step before. */
int tailrace_begin_step(tailrace_series *series, int64_t index, double time);
/* Writes this rank's block, `count` points from `start`, of a variable of a global `shape`; the blocks of all ranks
 * must make up the whole. `ghosts` (NULL: none) is the number of points that the array has before and after the block
 * in each direction, which are not written: its extent is count + 2 * ghosts. The caller may reuse `data` afterwards.
 */
int tailrace_write_float(tailrace_series *series, const char *name, int dimensions, const int64_t *shape,
                         const int64_t *start, const int64_t *count, const int64_t *ghosts, const float *data);
int tailrace_write_double(tailrace_series *series, const char *name, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const double *data);
/* One number per step; rank 0's is stored. */
int tailrace_write_scalar(tailrace_series *series, const char *name, double value);
int tailrace_end_step(tailrace_series *series);

/* ---- reading: `step` is a position, 0 to steps - 1 ---- */

/* Number of complete steps. Local. */
int tailrace_steps(const tailrace_series *series, int64_t *steps);
/* Index and time of a step. Local. */
int tailrace_step(const tailrace_series *series, int64_t step, int64_t *index, double *time);
/* Global shape (three numbers) and stored type of a grid variable; either may be NULL. Local. */
int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t *shape, int *type);
/* Fills `data` with any box, also an empty one; every rank its own. Numbers are converted to the type asked for. */
int tailrace_read_float(const tailrace_series *series, int64_t step, const char *name, int dimensions,
                        const int64_t *start, const int64_t *count, float *data);
int tailrace_read_double(const tailrace_series *series, int64_t step, const char *name, int dimensions,
                         const int64_t *start, const int64_t *count, double *data);
/* Local. */
int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value);

#ifdef __cplusplus
}
#endif
#endif
