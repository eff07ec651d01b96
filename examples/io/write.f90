! Writes the steps of a field that is split between the ranks, and reads the last plane on every rank.
program write
  use mpi
  use tailrace
  implicit none
  integer :: start(3), n(3), step, x, y, z, error
  double precision :: plane(9, 7, 1)
  double precision, allocatable :: ux(:, :, :)
  character(len=200) :: path ! x.h5, x.bp or a directory
  type(tailrace_decomposition) :: shared
  type(tailrace_series) :: series
  call MPI_Init(error)
  call get_command_argument(1, path)
  call shared%create(MPI_COMM_WORLD, [9, 7, 5], 0, 0)
  call shared%box(1, start, n) ! the X pencil of this rank: n points from start, which counts from 1
  allocate (ux(start(1):start(1) + n(1) - 1, start(2):start(2) + n(2) - 1, start(3):start(3) + n(3) - 1))
  call series%open(path, 'w', MPI_COMM_WORLD)
  do step = 1, 3
    forall (x=1:9, y=start(2):ubound(ux, 2), z=start(3):ubound(ux, 3)) ux(x, y, z) = x + 10*y + 100*z + 1000*step
    call series%begin_step(step, 0.25d0*step)
    call series%write('ux', ux, shape=[9, 7, 5], start=start)
    call series%end_step()
  end do
  call series%close()
  call series%open(path, 'r', MPI_COMM_WORLD)
  call series%read(3, 'ux', plane, start=[1, 1, 5])
  call series%close()
  if (nint(plane(9, 7, 1)) /= 3579) error stop 'read back something else'
  call MPI_Finalize(error)
end program
