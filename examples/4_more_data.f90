! Writes more than fields: arrays with ghost points, planes, every n-th point, particles, numbers and texts.
!
!   mpiexec -n 2 4_more_data_fortran more.h5
!   tailrace info more.h5 --minmax
program more_data
  use mpi
  use tailrace
  implicit none
  double precision, parameter :: pi = acos(-1d0)
  integer, parameter :: n(3) = [32, 24, 16]
  double precision, parameter :: h(3) = 2*pi/n
  integer :: rank, ranks, first, last, i, j, k, step, number, rows, error
  double precision :: time, helix, particles(4, 100)
  double precision, allocatable :: ux(:, :, :)
  character(len=200) :: path
  type(tailrace_series) :: out

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  if (path == '') path = 'more.h5'
  first = n(3)*rank/ranks + 1 ! the planes of this rank
  last = n(3)*(rank + 1)/ranks
  allocate (ux(n(1), n(2), first - 1:last + 1)) ! with a ghost plane on both sides

  call out%set_grid(n, [0d0, 0d0, 0d0], h)
  call out%open(path, 'w', MPI_COMM_WORLD)
  call out%set_attribute('particles/columns', 'number, x, y, z')
  do step = 0, 4
    time = 0.5d0*step
    forall (i=1:n(1), j=1:n(2), k=first - 1:last + 1)
      ux(i, j, k) = sin(h(1)*(i - 1) + time)*cos(h(2)*(j - 1)) + h(3)*(k - 1)
    end forall
    rows = 0 ! of particles: each rank has its own number of them
    do number = 0, 99
      helix = 2*pi*(number + 0.5d0)/100
      if (helix < h(3)*(first - 1) .or. helix >= h(3)*last) cycle
      rows = rows + 1
      particles(:, rows) = [dble(number), pi + cos(helix + time), pi + sin(helix + time), helix]
    end do

    call out%begin_step(step, time)
    ! Ghost points are left out without a copy: so many layers in x, y, z.
    call out%write('ux', ux, n, [1, 1, first], ghosts=[0, 0, 1])
    ! A region is every stride-th point from `first`, `points` of them; only these points are stored.
    call out%write_region('plane', ux, n, [1, 1, first], first=[1, 1, 9], points=[n(1), n(2), 1], ghosts=[0, 0, 1])
    call out%write_region('coarse', ux, n, [1, 1, first], first=[1, 1, 1], points=n/2, stride=[2, 2, 2], ghosts=[0, 0, 1])
    call out%write_list('particles', particles(:, :rows)) ! (columns, rows); stored in the order of the ranks
    call out%write_scalar('phase', cos(time))
    call out%write_scalar('note', 'this is step '//achar(48 + step))
    call out%end_step()
  end do
  call out%close()
  call MPI_Finalize(error)
end program
