! Sends steps to another program while both run. Nothing is stored. Start the two in any order:
!
!   mpiexec -n 2 5_stream_send_fortran sst:waves &
!   mpiexec -n 1 python 5_stream_receive.py sst:waves     or: tailrace analyse YOUR_SCRIPT.py sst:waves
program send
  use mpi
  use tailrace
  implicit none
  double precision, parameter :: pi = acos(-1d0)
  integer, parameter :: n(3) = [32, 24, 16]
  double precision, parameter :: h(3) = 2*pi/n
  integer :: rank, ranks, first, last, i, j, k, step, error
  double precision :: time
  double precision, allocatable :: ux(:, :, :)
  logical :: taken
  character(len=200) :: path
  type(tailrace_series) :: out

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  if (path == '') path = 'sst:waves'
  first = n(3)*rank/ranks + 1 ! the planes of this rank
  last = n(3)*(rank + 1)/ranks
  allocate (ux(n(1), n(2), first:last))

  ! The first step waits up to 30 s for a receiver, which then gets all steps. policy says what happens when it is slower
  ! than we are: 'block' makes us wait, 'drop_oldest', 'drop_newest' and 'adapt' leave steps out.
  call out%set('wait_for_reader', '30')
  call out%set('policy', 'block')
  call out%set_grid(n, [0d0, 0d0, 0d0], h, lengths=spread(2*pi, 1, 3), boundaries='periodic,periodic,periodic')
  call out%open(path, 'w', MPI_COMM_WORLD)
  do step = 0, 19
    time = 0.25d0*step
    call out%begin_step(step, time)
    call out%step_taken(taken)
    if (taken) then ! else nobody gets this step, and we need not prepare it
      forall (i=1:n(1), j=1:n(2), k=first:last)
        ux(i, j, k) = exp(-time/4)*(sin(h(1)*(i - 1) - time)*cos(h(2)*(j - 1)) + cos(h(3)*(k - 1))/2)
      end forall
      call out%write('ux', ux, shape=n, start=[1, 1, first])
    end if
    call out%end_step()
  end do
  call out%close()
  call MPI_Finalize(error)
end program
