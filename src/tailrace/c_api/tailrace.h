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
 * Indices count from 0, in the order x, y, z; x is fastest in memory. Arrays are float, double, int32_t or int64_t and
 * have one to four dimensions. Those of one or two are stored as (n, 1, 1) or (nx, ny, 1) and come back as that. One of
 * four (nx, ny, nz, components) is stored as a variable per component, name_1 to name_n, and read by its own name or by
 * theirs; each rank writes all components of its block, so start[3] is 0 and count[3] is shape[3].
 *
 * Texts that a function hands out belong to the series and stay until the next call that hands out one.
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

/* Types of numbers, in memory and stored: their bytes, negative for integers. A text is no type of arrays. */
enum tailrace_type {
  TAILRACE_FLOAT32 = 4,
  TAILRACE_FLOAT64 = 8,
  TAILRACE_INT32 = -4,
  TAILRACE_INT64 = -8,
  TAILRACE_TEXT = 0
};

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
/* Mode "w" writes, "a" appends, "r" reads. Engine "bp5", "hdf5", "raw", "sion", "null"; NULL or "": TAILRACE_ENGINE of
 * the environment, or by the path. */
int tailrace_open(tailrace_series *series, MPI_Comm comm, const char *path, const char *mode, const char *engine);
/* The same with the handle of a Fortran communicator. */
int tailrace_open_f(tailrace_series *series, MPI_Fint comm, const char *path, const char *mode, const char *engine);
/* What the series has to say about how it was opened, a line each; "" for nothing. Local. */
int tailrace_notes(const tailrace_series *series, const char **text);
/* Bytes of variables this rank has written and read, and steps written; any may be NULL. Local. */
int tailrace_counters(const tailrace_series *series, int64_t *bytes_written, int64_t *bytes_read, int64_t *steps);
/* Wall time of this rank in a phase: "convert", "checksum", "copy", "aggregate", "write", "metadata", "sync", "wait",
 * "read". Local. */
int tailrace_seconds(const tailrace_series *series, const char *phase, double *seconds);
/* An open step is dropped. Also after an error the series is closed, and may be opened again. */
int tailrace_close(tailrace_series *series);
/* Sets the handle to NULL. A series that is still open keeps its complete steps. NULL is ignored. */
void tailrace_free(tailrace_series **series);

/* ---- writing ---- */

/* Optional: fixes the shape (one to three dimensions) and the stored type, which otherwise the first write does. */
int tailrace_declare(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, int type);
/* `index` must be larger than that of the step before. */
int tailrace_begin_step(tailrace_series *series, int64_t index, double time);
/* Whether the step that was begun last is taken (1), or a stream leaves it out (0): then writing to it does nothing,
 * and its work can be saved; tailrace_end_step ends it all the same. Local. */
int tailrace_step_taken(const tailrace_series *series, int *taken);
/* Steps that a stream has left out so far: for want of room, to keep to its `share` of the time, and when there was no
 * reader; any may be NULL. Known in rank 0, elsewhere 0. Local. */
int tailrace_dropped(const tailrace_series *series, int64_t *dropped, int64_t *skipped, int64_t *unread);
/* Writes this rank's block, `count` points from `start`, of a variable of a global `shape`; the blocks of all ranks
 * must make up the whole. `ghosts` (NULL: none) is the number of points that the array has before and after the block
 * in each direction, which are not written: its extent is count + 2 * ghosts. The caller may reuse `data` afterwards.
 * tailrace_write_float and its like, below, say the type by themselves. */
int tailrace_write(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                   const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data);
/* The same, but nothing is copied: `data` must stay as it is until tailrace_end_step, where one that has changed is an
 * error (unless the parameter `checksums` is off). */
int tailrace_write_deferred(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                            const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data);
/* Stores only the points first, first + stride, ... of the whole variable, `points` of them in each direction: a plane,
 * a line, every n-th point. They become a variable of `points` points. `first`, `points` and `stride` (NULL: 1) have as
 * many entries as there are dimensions, at most three: of four dimensions all components are stored. */
int tailrace_write_region(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data,
                          const int64_t *first, const int64_t *points, const int64_t *stride);
/* Writes this rank's rows of a list (particles, probes), as many as it likes, also none; they are stored in the order
 * of the ranks. `data`: the columns of a row together. */
int tailrace_write_list(tailrace_series *series, const char *name, int type, int64_t rows, int64_t columns,
                        const void *data);
/* One number or text per step; rank 0's is stored. */
int tailrace_write_scalar(tailrace_series *series, const char *name, double value);
int tailrace_write_scalar_int64(tailrace_series *series, const char *name, int64_t value);
int tailrace_write_scalar_text(tailrace_series *series, const char *name, const char *value);
/* Attributes of the series, or as "variable/name" of a variable; rank 0's are stored, with the next step or at close.
 * `count` numbers, one of which is a number and no list. */
int tailrace_set_attribute(tailrace_series *series, const char *name, int64_t count, const double *values);
int tailrace_set_attribute_int64(tailrace_series *series, const char *name, int64_t count, const int64_t *values);
int tailrace_set_attribute_text(tailrace_series *series, const char *name, const char *value);
int tailrace_end_step(tailrace_series *series);

/* ---- reading: `step` is a position, 0 to steps - 1 ---- */

/* Number of complete steps. Local. */
int tailrace_steps(const tailrace_series *series, int64_t *steps);
/* Index and time of a step. Local. */
int tailrace_step(const tailrace_series *series, int64_t step, int64_t *index, double *time);
/* Number of variables of a step, lists among them. Local. */
int tailrace_variables(const tailrace_series *series, int64_t step, int64_t *variables);
/* Name of variable `number`, from 0. Local. */
int tailrace_variable_name(const tailrace_series *series, int64_t step, int64_t number, const char **name);
/* Global shape (three numbers), stored type, and whether it is a list (0 or 1; then the shape is columns, rows, 1); any
 * of the three may be NULL. Local. */
int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t *shape, int *type,
                      int *is_list);
/* Components of a four-dimensional array: how many of name_1, name_2, ... there are. Local. */
int tailrace_components(const tailrace_series *series, int64_t step, const char *name, int64_t *components);
/* Fills `data` with any box, also an empty one; every rank its own. Numbers are converted to the type asked for, but
 * real ones not to integers. */
int tailrace_read(const tailrace_series *series, int64_t step, const char *name, int type, int dimensions,
                  const int64_t *start, const int64_t *count, void *data);
/* Fills `data` with `rows` whole rows of a list from row `first` on; tailrace_variable says how many there are. */
int tailrace_read_list(const tailrace_series *series, int64_t step, const char *name, int type, int64_t first,
                       int64_t rows, void *data);
/* Type of a scalar: TAILRACE_FLOAT64, TAILRACE_INT64 or TAILRACE_TEXT. Local. */
int tailrace_scalar_type(const tailrace_series *series, int64_t step, const char *name, int *type);
/* Integers are read as double too; else the type must be the stored one. Local. */
int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value);
int tailrace_read_scalar_int64(const tailrace_series *series, int64_t step, const char *name, int64_t *value);
int tailrace_read_scalar_text(const tailrace_series *series, int64_t step, const char *name, const char **value);
/* Number of attributes, and the name of attribute `number`, from 0. Local. */
int tailrace_attributes(const tailrace_series *series, int64_t *attributes);
int tailrace_attribute_name(const tailrace_series *series, int64_t number, const char **name);
/* Type of an attribute, as of scalars, and how many numbers it has; either may be NULL. Local. */
int tailrace_attribute(const tailrace_series *series, const char *name, int *type, int64_t *count);
/* All its numbers: there must be `count` of them. Local. */
int tailrace_get_attribute(const tailrace_series *series, const char *name, int64_t count, double *values);
int tailrace_get_attribute_int64(const tailrace_series *series, const char *name, int64_t count, int64_t *values);
int tailrace_get_attribute_text(const tailrace_series *series, const char *name, const char **value);
/* Compares a step with its checksums: what is damaged, a line each; "": all is well, or there are none. */
int tailrace_verify(const tailrace_series *series, int64_t step, const char **text);

/* ---- write and read for each type ---- */

#define TAILRACE_TYPED(NAME, NUMBER, TYPE)                                                                             \
  static inline int tailrace_write_##NAME(tailrace_series *series, const char *name, int dimensions,                   \
                                          const int64_t *shape, const int64_t *start, const int64_t *count,            \
                                          const int64_t *ghosts, const NUMBER *data) {                                 \
    return tailrace_write(series, name, TYPE, dimensions, shape, start, count, ghosts, data);                          \
  }                                                                                                                    \
  static inline int tailrace_read_##NAME(const tailrace_series *series, int64_t step, const char *name,                \
                                         int dimensions, const int64_t *start, const int64_t *count, NUMBER *data) {   \
    return tailrace_read(series, step, name, TYPE, dimensions, start, count, data);                                    \
  }
TAILRACE_TYPED(float, float, TAILRACE_FLOAT32)
TAILRACE_TYPED(double, double, TAILRACE_FLOAT64)
TAILRACE_TYPED(int32, int32_t, TAILRACE_INT32)
TAILRACE_TYPED(int64, int64_t, TAILRACE_INT64)
#undef TAILRACE_TYPED

#ifdef __cplusplus
}
#endif
#endif
