! Writes slabs with halos and a list of particles. A second run resumes after the first step, as after a restart.
program restart
  use mpi
  use tailrace
  implicit none
  integer :: rank, ranks, run, step, rows, error
  double precision :: ux(9, 7, 0:2) = 0, particles(3, 1) = 0
  character(len=200) :: path
  type(tailrace_series) :: out
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, path)
  do run = 1, 2
    if (run == 2) call out%set_rewind(1) ! removes the steps after step 1
    call out%open(path, merge('w', 'a', run == 1), MPI_COMM_WORLD)
    do step = run, 3
      call out%begin_step(step, 0.25d0*step)
      call out%write('ux', ux, [9, 7, ranks], [1, 1, rank + 1], ghosts=[0, 0, 1])
      call out%write_list('particles', particles) ! (columns, rows); the number of rows may differ between ranks
      call out%end_step()
    end do
    call out%close()
  end do
  call out%open(path, 'r', MPI_COMM_WORLD)
  call out%rows(3, 'particles', rows) ! of the third step, written by the second run
  call out%close()
  if (rows /= ranks) error stop 'not as written'
  call MPI_Finalize(error)
end program
