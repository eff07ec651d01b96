! Writes a series: a field that is shared by the ranks, in nine steps, with its grid.
!
!   mpiexec -n 2 1_write_fortran waves.h5   or waves.bp, waves.sion, or waves: the ending of the path selects the format
!   tailrace info waves.h5                  shows what is in it
!   tailrace plot waves.h5 --field ux --step 3 -o 1_write.png
program write_series
  use mpi
  use tailrace
  implicit none
  double precision, parameter :: pi = acos(-1d0)
  integer, parameter :: points(3) = [32, 24, 16] ! in x, y, z
  double precision, parameter :: spacing(3) = 2*pi/points
  integer :: rank, ranks, first, last, i, j, k, step, error
  double precision :: time
  double precision, allocatable :: ux(:, :, :)
  character(len=200) :: path
  type(tailrace_series) :: out

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  if (path == '') path = 'waves.h5'

  ! Each rank has some planes of the box, counted from 1.
  first = points(3)*rank/ranks + 1
  last = points(3)*(rank + 1)/ranks
  allocate (ux(points(1), points(2), first:last))

  ! The grid is optional. With it, ParaView knows where the points are, and analyses can compute derivatives.
  call out%set_grid(points, [0d0, 0d0, 0d0], spacing, lengths=spread(2*pi, 1, 3), boundaries='periodic,periodic,periodic')
  call out%open(path, 'w', MPI_COMM_WORLD)
  call out%set_attribute('ux/units', 'm/s')
  do step = 0, 8
    time = 0.5d0*step
    do k = first, last
      do j = 1, points(2)
        do i = 1, points(1)
          ux(i, j, k) = exp(-time/4)*(sin(spacing(1)*(i - 1) - time)*cos(spacing(2)*(j - 1)) + cos(spacing(3)*(k - 1))/2)
        end do
      end do
    end do
    call out%begin_step(10*step, time)                        ! the number of the time step in the simulation, and its time
    call out%write('ux', ux, shape=points, start=[1, 1, first]) ! the whole, and where this rank's part begins
    call out%end_step()                                       ! the step is complete, whatever happens to the program later
  end do
  call out%close()
  call MPI_Finalize(error)
end program
