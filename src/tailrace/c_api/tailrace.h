/* Tailrace's series for programs in C. The Fortran module calls these functions.
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
 * Every function that can fail returns 0 or one of the errors below; tailrace_error_text() returns the reason. All
 * functions are collective over the communicator and fail on all ranks together, except those marked local.
 * <tailrace/io/series.hpp> describes each function.
 *
 * Indices count from 0, in the order x, y, z; x is fastest in memory. Arrays are float, double, int32_t or int64_t and
 * have one to four dimensions. One or two dimensions are stored and read as (n, 1, 1) or (nx, ny, 1). Four dimensions
 * (nx, ny, nz, components) are stored as one variable per component, name_1 to name_n; read them by the array's name or
 * by these names. Each rank writes all components: start[3] is 0, count[3] is shape[3].
 *
 * Texts that a function returns belong to the series and are valid until the next call that returns a text.
 *
 * Call MPI_Init before the first of these functions, and close and free everything before MPI_Finalize. */
#ifndef TAILRACE_H
#define TAILRACE_H

#include <mpi.h>
#include <stddef.h> /* NULL, which functions here take */
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

/* Number types, in memory and in files: their size in bytes, negative for integers, 100 less for those without a sign,
 * 100 more for complex numbers (the real, then the imaginary part). A truth value is a byte, 0 or 1; half precision has
 * the bits of IEEE 754. Not every engine has all. No array has the type of texts. */
enum tailrace_type {
  TAILRACE_FLOAT16 = 2,
  TAILRACE_FLOAT32 = 4,
  TAILRACE_FLOAT64 = 8,
  TAILRACE_INT8 = -1,
  TAILRACE_INT16 = -2,
  TAILRACE_INT32 = -4,
  TAILRACE_INT64 = -8,
  TAILRACE_UINT8 = -101,
  TAILRACE_UINT16 = -102,
  TAILRACE_UINT32 = -104,
  TAILRACE_UINT64 = -108,
  TAILRACE_BOOL = 101,
  TAILRACE_COMPLEX64 = 108,
  TAILRACE_COMPLEX128 = 116,
  TAILRACE_TEXT = 0
};

/* The error of this thread's last failed call, behind the name of that function; valid until the next failed call.
 * Never NULL. Local. */
const char *tailrace_error_text(void);

/* Prints `text`, or the error of this thread's last failed call if it is NULL. Rank 0 prints at once; the others wait
 * for five seconds, in which a program that ends after an error has ended them: what all ranks have to say is printed
 * once. Local. */
void tailrace_print_error(const char *text);

/* ---- decomposition: optional, for programs that do not have their own ---- */

typedef struct tailrace_decomposition tailrace_decomposition;

/* Splits `shape` (three numbers) over rows x cols ranks. If one of rows and cols is 0, it follows from the other and
 * the number of ranks; if both are 0, the parts are slabs. */
int tailrace_decomposition_new(tailrace_decomposition **decomposition, MPI_Comm comm, const int64_t *shape, int rows,
                               int cols);
/* The same with the handle of a Fortran communicator. */
int tailrace_decomposition_new_f(tailrace_decomposition **decomposition, MPI_Fint comm, const int64_t *shape, int rows,
                                 int cols);
/* This rank's box in the pencil that has all points in `direction`: 0 is x, 1 is y, 2 is z. Local. */
int tailrace_decomposition_box(const tailrace_decomposition *decomposition, int direction, int64_t start[3],
                               int64_t count[3]);
/* Sets the handle to NULL. NULL is ignored. */
void tailrace_decomposition_free(tailrace_decomposition **decomposition);

/* ---- series ---- */

typedef struct tailrace_series tailrace_series;

/* Creates a handle that is not open yet. Local. */
int tailrace_new(tailrace_series **series);
/* Settings for the next tailrace_open only. They must be the same on every rank. Local. */
int tailrace_set_parameter(tailrace_series *series, const char *name, const char *value);
/* Point i of direction d is at origin[d] + i * spacing[d]. ParaView draws the variables there. `lengths` (three
 * numbers) and `boundaries` ("periodic,free-slip,dirichlet", in x, y and z) describe the whole box; the series stores
 * them as attributes of these names, with which `tailrace analyse` needs no grid file. Both may be NULL, and three
 * lengths of 0 are not known. */
int tailrace_set_grid(tailrace_series *series, const int64_t *points, const double *origin, const double *spacing,
                      const double *lengths, const char *boundaries);
/* Appending: drop the steps with a larger index. */
int tailrace_set_rewind(tailrace_series *series, int64_t index);
/* Mode "w" writes, and replaces an earlier series; "x" writes, and is an error if the path exists; "a" appends;
 * "r" reads. Engine: for example "bp5", "hdf5", "raw", "sion", "null". NULL or "": the
 * environment variable TAILRACE_ENGINE or the path selects the engine. */
int tailrace_open(tailrace_series *series, MPI_Comm comm, const char *path, const char *mode, const char *engine);
/* The same with the handle of a Fortran communicator. */
int tailrace_open_f(tailrace_series *series, MPI_Fint comm, const char *path, const char *mode, const char *engine);
/* Information about how the series was opened, one line each; "" for none. Local. */
int tailrace_notes(const tailrace_series *series, const char **text);
/* Bytes of variables this rank has written and read, and steps written; any may be NULL. Local. */
int tailrace_counters(const tailrace_series *series, int64_t *bytes_written, int64_t *bytes_read, int64_t *steps);
/* Wall time of this rank in a phase: "convert", "checksum", "copy", "aggregate", "write", "metadata", "sync", "wait",
 * "read". Local. */
int tailrace_seconds(const tailrace_series *series, const char *phase, double *seconds);
/* 1 between tailrace_open and tailrace_close, else 0; also for NULL. Local. */
int tailrace_is_open(const tailrace_series *series);
/* Drops an open step. The series is closed even after an error, and may be opened again. A series that is not open
 * stays as it is. */
int tailrace_close(tailrace_series *series);
/* Sets the handle to NULL. A series that is still open keeps its complete steps. NULL is ignored. */
void tailrace_free(tailrace_series **series);

/* ---- writing ---- */

/* Optional: sets the shape (one to three dimensions) and the stored type, which otherwise the first write sets. */
int tailrace_declare(tailrace_series *series, const char *name, int dimensions, const int64_t *shape, int type);
/* `index` must be larger than that of the previous step. */
int tailrace_begin_step(tailrace_series *series, int64_t index, double time);
/* Whether the current step is taken (1) or a stream leaves it out (0). Writes to a step that is not taken do nothing,
 * so the caller may skip them; tailrace_end_step is still required. Local. */
int tailrace_step_taken(const tailrace_series *series, int *taken);
/* Steps that a stream has left out so far: because there was no room, to keep within its `share` of the time, and
 * because there was no reader. Any pointer may be NULL. Known on rank 0, 0 on other ranks. Local. */
int tailrace_dropped(const tailrace_series *series, int64_t *dropped, int64_t *skipped, int64_t *unread);
/* Writes this rank's block, `count` points from `start`, of a variable of global `shape`; the blocks of all ranks must
 * fill the shape. `ghosts` (NULL: none) is the number of points that the array has before and after the block in each
 * direction and that are not written: its extent is count + 2 * ghosts. The caller may reuse `data` afterwards.
 * Functions such as tailrace_write_float, below, need no `type`. */
int tailrace_write(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                   const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data);
/* The same without a copy: `data` must not change until tailrace_end_step returns. A change is an error, unless the
 * parameter `checksums` is off. */
int tailrace_write_deferred(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                            const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data);
/* Stores only the points first, first + stride, ... of the whole variable, `points` in each direction: a plane, a line,
 * every n-th point. The stored variable has the shape `points`. `first`, `points` and `stride` (NULL: 1) have one entry
 * per dimension, at most three: all components of a four-dimensional array are stored. */
int tailrace_write_region(tailrace_series *series, const char *name, int type, int dimensions, const int64_t *shape,
                          const int64_t *start, const int64_t *count, const int64_t *ghosts, const void *data,
                          const int64_t *first, const int64_t *points, const int64_t *stride);
/* Writes any number of rows of a list (particles, probes) from this rank, also none; rows are stored in the order of
 * the ranks. `data` holds one row after another. */
int tailrace_write_list(tailrace_series *series, const char *name, int type, int64_t rows, int64_t columns,
                        const void *data);
/* Stores one number or text of rank 0 in the step. */
int tailrace_write_scalar(tailrace_series *series, const char *name, double value);
int tailrace_write_scalar_int64(tailrace_series *series, const char *name, int64_t value);
int tailrace_write_scalar_text(tailrace_series *series, const char *name, const char *value);
/* Sets an attribute of the series, or of a variable with the name "variable/name". The value of rank 0 is stored, with
 * the next step or at close. Before tailrace_open an attribute is kept for the next open; all ranks set the same ones,
 * and the call is local. `count` numbers; one number is stored as a number, not as a list. */
int tailrace_set_attribute(tailrace_series *series, const char *name, int64_t count, const double *values);
int tailrace_set_attribute_int64(tailrace_series *series, const char *name, int64_t count, const int64_t *values);
int tailrace_set_attribute_text(tailrace_series *series, const char *name, const char *value);
/* A list of `count` texts, which stays a list if it has one. */
int tailrace_set_attribute_texts(tailrace_series *series, const char *name, int64_t count, const char *const *values);
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
/* Global shape (three numbers), stored type, and whether it is a list (0 or 1; the shape of a list is columns, rows,
 * 1). Any of these pointers may be NULL. Local. */
int tailrace_variable(const tailrace_series *series, int64_t step, const char *name, int64_t shape[3], int *type,
                      int *is_list);
/* Number of components of a four-dimensional array: name_1, name_2, ... Local. */
int tailrace_components(const tailrace_series *series, int64_t step, const char *name, int64_t *components);
/* Fills `data` with any box, also an empty one; each rank has its own box. Converts numbers that are not
 * complex to TAILRACE_FLOAT32 and TAILRACE_FLOAT64; any other `type` must be the stored type. */
int tailrace_read(const tailrace_series *series, int64_t step, const char *name, int type, int dimensions,
                  const int64_t *start, const int64_t *count, void *data);
/* Fills `data` with `rows` rows of a list, starting at row `first`; tailrace_variable returns the number of rows. */
int tailrace_read_list(const tailrace_series *series, int64_t step, const char *name, int type, int64_t first,
                       int64_t rows, void *data);
/* Type of a scalar: TAILRACE_FLOAT64, TAILRACE_INT64 or TAILRACE_TEXT. Local. */
int tailrace_scalar_type(const tailrace_series *series, int64_t step, const char *name, int *type);
/* Integers can be read as double too; otherwise the type must be the stored type. Local. */
int tailrace_read_scalar(const tailrace_series *series, int64_t step, const char *name, double *value);
int tailrace_read_scalar_int64(const tailrace_series *series, int64_t step, const char *name, int64_t *value);
int tailrace_read_scalar_text(const tailrace_series *series, int64_t step, const char *name, const char **value);
/* Number of attributes, and the name of attribute `number`, from 0. Local. */
int tailrace_attributes(const tailrace_series *series, int64_t *attributes);
int tailrace_attribute_name(const tailrace_series *series, int64_t number, const char **name);
/* Type of an attribute, as for scalars, and its number of values; either pointer may be NULL. Local. */
int tailrace_attribute(const tailrace_series *series, const char *name, int *type, int64_t *count);
/* All numbers of an attribute; `count` must be their number. Local. */
int tailrace_get_attribute(const tailrace_series *series, const char *name, int64_t count, double values[]);
int tailrace_get_attribute_int64(const tailrace_series *series, const char *name, int64_t count, int64_t values[]);
int tailrace_get_attribute_text(const tailrace_series *series, const char *name, const char **value);
/* Text `number`, from 0, of a list of texts; of a single text number 0. Local. */
int tailrace_get_attribute_text_at(const tailrace_series *series, const char *name, int64_t number, const char **value);
/* Compares a step with its checksums. Returns the damage, one line each; "": no damage, or no checksums. */
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
