! A simulation of your own that can be killed at any moment and continues on any number of ranks.
!
!   mpiexec -n 2 3_restart_fortran decay.h5 25   as if interrupted at step 25; the last checkpoint is of step 20
!   mpiexec -n 1 3_restart_fortran decay.h5 40   continues from step 20; the results are those of a single run
!   tailrace plot decay.h5 --field u --step 4 -o 3_restart.png
program restart
  use mpi
  use tailrace
  implicit none
  integer, parameter :: n(3) = [48, 36, 8]
  double precision, parameter :: h(3) = 2*acos(-1d0)/n
  integer :: rank, ranks, first, last, i, j, k, turn, step, last_step, steps, index, status, error
  double precision :: time
  double precision, allocatable :: u(:, :, :)
  character(len=200) :: path, word
  character(len=:), allocatable :: damage
  type(tailrace_series) :: results, state

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) last_step
  first = n(3)*rank/ranks + 1                   ! the planes of this rank
  last = n(3)*(rank + 1)/ranks
  allocate (u(n(1), n(2), first:last))

  step = -1                                     ! two checkpoints, written in turn: one of them is always complete
  do turn = 1, 2
    call state%open(trim(path)//'.checkpoint'//achar(48 + turn), 'r', MPI_COMM_WORLD, stat=status)
    if (status /= 0) cycle                      ! not written yet
    call state%steps(steps)
    if (steps > 0) then
      call state%step(1, index, time)
      call state%verify(1, damage)
      if (index > step .and. damage == '') then
        step = index
        call state%read(1, 'u', u, start=[1, 1, first])
      end if
    end if
    call state%close()
  end do

  call results%set_grid(n, [0d0, 0d0, 0d0], h)
  if (step >= 0) then
    call results%set_rewind(step)               ! removes the results after the checkpoint
    call results%open(path, 'a', MPI_COMM_WORLD)
  else
    step = 0
    forall (i=1:n(1), j=1:n(2), k=first:last) u(i, j, k) = k*(sin(h(1)*(i - 1)) + sin(4*h(1)*(i - 1))*cos(3*h(2)*(j - 1)))
    call results%open(path, 'w', MPI_COMM_WORLD)
    call write_to(results)
  end if
  do while (step < last_step)                   ! diffusion in x and y
    u = u + 0.2d0*(cshift(u, 1, 1) + cshift(u, -1, 1) + cshift(u, 1, 2) + cshift(u, -1, 2) - 4*u)
    step = step + 1
    if (mod(step, 5) == 0) call write_to(results)
    if (mod(step, 10) == 0) then
      call state%set('sync', 'on')              ! end_step returns when the step is on the disk
      call state%open(trim(path)//'.checkpoint'//achar(49 + mod(step/10, 2)), 'w', MPI_COMM_WORLD, engine='raw')
      call write_to(state)
      call state%close()
    end if
  end do
  call results%close()
  call MPI_Finalize(error)

contains
  subroutine write_to(series)                   ! when it returns, the step is complete
    class(tailrace_series), intent(inout) :: series
    call series%begin_step(step, 0.01d0*step)
    call series%write('u', u, shape=n, start=[1, 1, first])
    call series%end_step()
  end subroutine
end program
