#pragma once
// Counts the collective MPI calls of a program, including those of its libraries. This file defines the MPI functions,
// which count and then call the profiling interface of MPI. Include it in only one source file of a program.

#include <mpi.h>

namespace tailrace::test {

/// The number of collective calls on this rank since the start.
inline int collective_calls = 0;

/// Whether the ranks that have a file open are more than one.
inline bool is_shared(MPI_File file) {
  MPI_Group ranks = MPI_GROUP_NULL;
  int size = 0;
  PMPI_File_get_group(file, &ranks);
  PMPI_Group_size(ranks, &size);
  PMPI_Group_free(&ranks);
  return size > 1;
}

} // namespace tailrace::test

#define TAILRACE_COUNTED(name, parameters, arguments)                                                                  \
  extern "C" int MPI_##name parameters {                                                                               \
    ++tailrace::test::collective_calls;                                                                                \
    return PMPI_##name arguments;                                                                                      \
  }

TAILRACE_COUNTED(Barrier, (MPI_Comm comm), (comm))
TAILRACE_COUNTED(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
TAILRACE_COUNTED(Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm),
                 (data, count, type, root, comm))
TAILRACE_COUNTED(Ibcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request),
                 (data, count, type, root, comm, request))
TAILRACE_COUNTED(Reduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
                 (in, out, count, type, op, root, comm))
TAILRACE_COUNTED(Allreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                 (in, out, count, type, op, comm))
TAILRACE_COUNTED(Scan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                 (in, out, count, type, op, comm))
TAILRACE_COUNTED(Exscan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
                 (in, out, count, type, op, comm))
TAILRACE_COUNTED(Gather,
                 (const void *in, int sent, MPI_Datatype from, void *out, int received, MPI_Datatype to, int root,
                  MPI_Comm comm),
                 (in, sent, from, out, received, to, root, comm))
TAILRACE_COUNTED(Gatherv,
                 (const void *in, int sent, MPI_Datatype from, void *out, const int *received, const int *starts,
                  MPI_Datatype to, int root, MPI_Comm comm),
                 (in, sent, from, out, received, starts, to, root, comm))
TAILRACE_COUNTED(Allgather,
                 (const void *in, int sent, MPI_Datatype from, void *out, int received, MPI_Datatype to, MPI_Comm comm),
                 (in, sent, from, out, received, to, comm))
TAILRACE_COUNTED(Allgatherv,
                 (const void *in, int sent, MPI_Datatype from, void *out, const int *received, const int *starts,
                  MPI_Datatype to, MPI_Comm comm),
                 (in, sent, from, out, received, starts, to, comm))
TAILRACE_COUNTED(Scatter,
                 (const void *in, int sent, MPI_Datatype from, void *out, int received, MPI_Datatype to, int root,
                  MPI_Comm comm),
                 (in, sent, from, out, received, to, root, comm))
TAILRACE_COUNTED(Scatterv,
                 (const void *in, const int *sent, const int *starts, MPI_Datatype from, void *out, int received,
                  MPI_Datatype to, int root, MPI_Comm comm),
                 (in, sent, starts, from, out, received, to, root, comm))
TAILRACE_COUNTED(Alltoall,
                 (const void *in, int sent, MPI_Datatype from, void *out, int received, MPI_Datatype to, MPI_Comm comm),
                 (in, sent, from, out, received, to, comm))
TAILRACE_COUNTED(Alltoallv,
                 (const void *in, const int *sent, const int *starts, MPI_Datatype from, void *out, const int *received,
                  const int *places, MPI_Datatype to, MPI_Comm comm),
                 (in, sent, starts, from, out, received, places, to, comm))
TAILRACE_COUNTED(Comm_dup, (MPI_Comm comm, MPI_Comm *copy), (comm, copy))
TAILRACE_COUNTED(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *part), (comm, color, key, part))

#define TAILRACE_COUNTED_OF_FILE(name, parameters, file, arguments)                                                    \
  extern "C" int MPI_##name parameters {                                                                               \
    tailrace::test::collective_calls += tailrace::test::is_shared(file) ? 1 : 0;                                       \
    return PMPI_##name arguments;                                                                                      \
  }

extern "C" int MPI_File_open(MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file) {
  tailrace::test::collective_calls += comm == MPI_COMM_SELF ? 0 : 1;
  return PMPI_File_open(comm, path, mode, info, file);
}
TAILRACE_COUNTED_OF_FILE(File_close, (MPI_File * file), *file, (file))
TAILRACE_COUNTED_OF_FILE(File_set_view,
                         (MPI_File file, MPI_Offset offset, MPI_Datatype item, MPI_Datatype type, const char *form,
                          MPI_Info info),
                         file, (file, offset, item, type, form, info))
TAILRACE_COUNTED_OF_FILE(File_set_size, (MPI_File file, MPI_Offset size), file, (file, size))
TAILRACE_COUNTED_OF_FILE(File_sync, (MPI_File file), file, (file))
TAILRACE_COUNTED_OF_FILE(File_write_at_all,
                         (MPI_File file, MPI_Offset offset, const void *data, int count, MPI_Datatype type,
                          MPI_Status *status),
                         file, (file, offset, data, count, type, status))

#undef TAILRACE_COUNTED_OF_FILE
#undef TAILRACE_COUNTED
