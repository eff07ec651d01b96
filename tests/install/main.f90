! Uses the installed module: writes a line with one number per rank, and reads the last number.
program main
  use mpi
  use tailrace
  implicit none
  type(tailrace_series) :: series
  integer :: rank, ranks, error
  real :: value(1)
  character(len=200) :: path
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  value = rank
  call series%open(path, 'w', MPI_COMM_WORLD)
  call series%begin_step(1, 0.5d0)
  call series%write('ranks', value, [ranks], [rank + 1])
  call series%end_step()
  call series%close()
  call series%open(path, 'r', MPI_COMM_WORLD)
  call series%read(1, 'ranks', value, [ranks])
  call series%close()
  if (nint(value(1)) /= ranks - 1) error stop 'consumer in Fortran: wrong'
  if (rank == 0) print '(a, i0, a)', 'consumer in Fortran on ', ranks, ' ranks: ok'
  call MPI_Finalize(error)
end program
