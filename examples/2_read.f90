! Reads what 1_write has written: any part of it, on any number of ranks.
!
!   mpiexec -n 3 2_read_fortran waves.h5    prints the mean square of ux
program read_series
  use mpi
  use tailrace
  implicit none
  integer :: rank, ranks, steps, step, index, n(3), first, last, error
  double precision :: time, total
  double precision, allocatable :: ux(:, :, :)
  character(len=200) :: path
  type(tailrace_series) :: in

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  if (path == '') path = 'waves.h5'

  call in%open(path, 'r', MPI_COMM_WORLD)
  call in%steps(steps)
  do step = 1, steps                         ! a position, from 1; in%step gives the index and the time of the simulation
    call in%step(step, index, time)
    call in%variable(step, 'ux', n)          ! points in x, y, z

    ! Each rank reads the box that it needs, whatever the ranks of the writer had: here some rows of all planes.
    first = n(2)*rank/ranks + 1
    last = n(2)*(rank + 1)/ranks
    allocate (ux(n(1), first:last, n(3)))
    call in%read(step, 'ux', ux, start=[1, first, 1]) ! as many points as the array has

    total = sum(ux**2)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) print '(a, i0, a, f0.1, a, f14.12)', 'step ', index, ', time ', time, ': mean square ', total/product(n)
    deallocate (ux)
  end do
  call in%close()
  call MPI_Finalize(error)
end program
