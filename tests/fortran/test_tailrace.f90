! Tests the Fortran module: all array ranks and kinds, ghost points, array sections, and the texts of errors.
program test_tailrace
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int32, int64, real32, real64
  use mpi
  use tailrace
  implicit none
  integer, parameter :: nx = 11, ny = 7, nz = 13
  type(tailrace_decomposition) :: shared
  type(tailrace_series) :: series
  integer :: ranks, rank, error, failures, status, start(3), n(3), shape(3), type, steps, index, i, j, k
  real(real64) :: time, energy
  real(real64), allocatable :: whole(:, :, :), wide(:, :, :), double_1d(:), double_2d(:, :)
  real(real64), allocatable :: lengths(:), reynolds(:)
  integer(int64), allocatable :: widths(:)
  character(len=:), allocatable :: boundaries, text
  character(len=tailrace_name_length), allocatable :: names(:)
  real(real32), allocatable :: single_1d(:), single_2d(:, :), single_3d(:, :, :)
  character(len=400) :: path, message

  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, path)
  failures = 0

  allocate (whole(nx, ny, nz))
  do k = 1, nz
    do j = 1, ny
      do i = 1, nx
        whole(i, j, k) = i + 20*j + 400*k
      end do
    end do
  end do
  call shared%create(MPI_COMM_WORLD, [nx, ny, nz], 0, 0)
  call shared%box(3, start, n)
  call shared%free()
  ! ---- a series that was never opened: closing it keeps what was set ----
  call series%set('checksums', 'off')
  call series%set_attribute('case', 'tgv')
  call series%set_attribute('reynolds', [1600d0])
  call series%set_attribute('ghosts/widths', [2_int64, 0_int64, 1_int64])
  call series%set_attribute('no name', 'tgv', stat=status, errmsg=message)
  call expect_error('set_attribute: ', 'name of an attribute', tailrace_input_error, "'no name'")
  call series%close()
  call expect('not open', .not. series%is_open())
  call series%begin_step(1, 0d0, stat=status, errmsg=message)
  call expect_error('begin_step: ', 'step', tailrace_input_error, 'the series is not open')
  call series%write_scalar('energy', 1d0, stat=status, errmsg=message)
  call expect_error('write_scalar: ', 'write', tailrace_input_error, 'the series is not open')
  call series%set_grid([nx, ny, nz], [0d0, 0d0, 0d0], [1d0, 0.5d0, 0.25d0], lengths=[11d0, 3.5d0, 3d0], &
    boundaries='periodic,periodic,wall', stat=status, errmsg=message)
  call expect_error('set_grid: ', 'boundaries', tailrace_input_error, 'wall')
  call series%set_grid([nx, ny, nz], [0d0, 0d0, 0d0], [1d0, 0.5d0, 0.25d0], lengths=[11d0, 3.5d0, 3d0], &
    boundaries='periodic,periodic,free-slip')

  associate (last => start + n - 1)
    ! ghost points: two along x, none along y, one along z
    allocate (wide(start(1) - 2:last(1) + 2, start(2):last(2), start(3) - 1:last(3) + 1))
    wide = -1
    wide(start(1):last(1), :, start(3):last(3)) = whole(start(1):last(1), start(2):last(2), start(3):last(3))

    call series%open(path, 'w', MPI_COMM_WORLD, engine='hdf5')
    call expect('open', series%is_open())
    call series%declare('stored', [nx, ny, nz], tailrace_float32)
    call series%begin_step(7, 0.5d0)
    call series%write('section', whole(start(1):last(1), start(2):last(2), start(3):last(3)), [nx, ny, nz], start)
    call series%write('ghosts', wide, [nx, ny, nz], start, ghosts=[2, 0, 1])
    call series%write('stored', wide, [nx, ny, nz], start, ghosts=[2, 0, 1])
    call series%write('single', real(wide, real32), [nx, ny, nz], start, ghosts=[2, 0, 1])
  end associate
  call series%write('double_1d', whole(4:6, 1, 1) + rank, [3*ranks], [3*rank + 1])
  call series%write('single_1d', real(whole(4:6, 1, 1), real32) + rank, [3*ranks], [3*rank + 1])
  call series%write('double_2d', whole(:, 2:3, 1) + rank, [nx, 2*ranks], [1, 2*rank + 1])
  call series%write('single_2d', real(whole(:, 2:3, 1), real32) + rank, [nx, 2*ranks], [1, 2*rank + 1])
  call series%write_scalar('energy', 0.125d0)

  ! ---- errors inside the step, which do not change the step ----
  call series%write('wrong', whole, [nx, ny], start, stat=status, errmsg=message)
  call expect_error('write: ', 'shape of other rank', tailrace_input_error, 'wrong')
  call series%write('wrong', whole, [nx + 1, ny, nz], [1, 1, 1], stat=status, errmsg=message)
  call expect_error('write: ', 'wrong shape', tailrace_input_error, 'wrong')
  call series%write('wrong', wide, [nx, ny, nz], start, ghosts=[1], stat=status, errmsg=message)
  call expect_error('write: ', 'one ghost width for three directions', tailrace_input_error, '-1 ghosts')

  call series%end_step()
  call series%close()

  ! ---- the contents of the file ----
  call series%open(path, 'r', MPI_COMM_WORLD)
  call series%steps(steps)
  call series%step(1, index, time)
  call series%read_scalar(1, 'energy', energy)
  call series%get_attribute('lengths', lengths)
  call series%get_attribute('boundaries', boundaries)
  call series%get_attribute('case', text)
  call series%get_attribute('reynolds', reynolds)
  call series%get_attribute('ghosts/widths', widths)
  call series%attributes(names)
  call expect('attributes set before open', text == 'tgv' .and. all(abs(reynolds - [1600d0]) <= 0) .and. &
    all(widths == [2, 0, 1]) .and. size(names) == 5)
  call expect('box', all(abs(lengths - [11d0, 3.5d0, 3d0]) <= 0) .and. boundaries == 'periodic,periodic,free-slip')
  call expect('step', steps == 1 .and. index == 7 .and. abs(time - 0.5d0) <= 0 .and. abs(energy - 0.125d0) <= 0)
  allocate (single_3d(5, 1, 6), single_1d(1), double_1d(1), single_2d(nx, 1), double_2d(2, 2))
  deallocate (wide)
  allocate (wide(nx, ny, nz))
  call check_field('section', tailrace_float64)
  call check_field('ghosts', tailrace_float64)
  call check_field('stored', tailrace_float32)
  call check_field('single', tailrace_float32)
  call series%variable(1, 'double_1d', shape)
  call expect('shape of a line', all(shape == [3*ranks, 1, 1]))
  call series%read(1, 'double_1d', double_1d, [3*ranks - 1])
  call expect('double_1d', abs(double_1d(1) - whole(5, 1, 1) - (ranks - 1)) <= 0)
  call series%read(1, 'single_1d', single_1d, [3*ranks])
  call expect('single_1d', abs(single_1d(1) - whole(6, 1, 1) - (ranks - 1)) <= 0)
  call series%read(1, 'double_2d', double_2d, [4, 2*ranks - 1])
  call expect('double_2d', all(abs(double_2d - whole(4:5, 2:3, 1) - (ranks - 1)) <= 0))
  call series%read(1, 'single_2d', single_2d, [1, 2*ranks])
  call expect('single_2d', all(abs(single_2d(:, 1) - whole(:, 3, 1) - (ranks - 1)) <= 0))

  ! ---- errors of read and open ----
  call series%read(1, 'sectoin', wide, [1, 1, 1], stat=status, errmsg=message)
  call expect_error('read: ', 'missing variable', tailrace_input_error, "no variable 'sectoin'; did you mean 'section'?")
  call series%read(2, 'section', wide, [1, 1, 1], stat=status, errmsg=message)
  call expect_error('read: ', 'missing step', tailrace_input_error, 'no step number 1') ! the error texts count from 0
  call series%read(1, 'section', wide, [1, 1, 2], stat=status, errmsg=message)
  call expect_error('read: ', 'outside', tailrace_input_error, 'outside')
  call series%close()
  call series%close()
  call expect('closed twice', .not. series%is_open())
  call series%set_attribute('case', 'tgv')
  call series%open(path, 'r', MPI_COMM_WORLD, stat=status, errmsg=message)
  call expect_error('open: ', 'attribute of a reader', tailrace_input_error, "the attributes 'case' were set before open")
  call series%open(path, 'x', MPI_COMM_WORLD, stat=status, errmsg=message)
  call expect_error('open: ', 'exclusive', tailrace_io_error, 'is there already')
  call series%open(path, 'w', MPI_COMM_WORLD, engine='hdf4', stat=status, errmsg=message)
  call expect_error('open: ', 'unknown engine', tailrace_input_error, "unknown engine 'hdf4'")
  call series%open(trim(path)//'/none/out.h5', 'r', MPI_COMM_WORLD, stat=status, errmsg=message)
  call expect_error('open: ', 'missing file', tailrace_io_error, 'out.h5')
  call shared%create(MPI_COMM_WORLD, [nx, ny, nz], ranks + 1, 1, stat=status, errmsg=message)
  call expect_error('create: ', 'process grid', tailrace_input_error, 'process grid')

  call check_everything('raw')
  call check_everything('sion')
  call check_everything('hdf5')
  call check_everything('bp5')

  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (failures > 0) error stop 1
  call MPI_Finalize(error)

contains

  subroutine expect(what, right)
    character(len=*), intent(in) :: what
    logical, intent(in) :: right
    if (right) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') '[rank ', rank, '] not as expected: ', what
  end subroutine

  !> The text begins with the name of the procedure.
  subroutine expect_error(procedure, what, expected, says)
    character(len=*), intent(in) :: procedure, what, says
    integer, intent(in) :: expected
    call expect(what//': '//trim(message), status == expected .and. index_of(says) > 0 .and. index_of(procedure) == 1)
    message = ''
  end subroutine

  !> Calls the intrinsic `index`, because the main program has a variable of the same name.
  integer function index_of(says)
    character(len=*), intent(in) :: says
    intrinsic :: index
    index_of = index(message, says)
  end function

  subroutine check_field(name, stored)
    character(len=*), intent(in) :: name
    integer, intent(in) :: stored
    call series%variable(1, name, shape, type)
    call expect(name//': shape and type', all(shape == [nx, ny, nz]) .and. type == stored)
    wide = 0
    call series%read(1, name, wide, [1, 1, 1])
    call expect(name//': whole', all(abs(wide - whole) <= 0))
    call series%read(1, name, single_3d, [2, 3, 4])
    call expect(name//': box', all(abs(single_3d - whole(2:6, 3:3, 4:9)) <= 0))
    wide = 0
    call series%read(1, name, wide(3:4, :, 5:6), [3, 1, 5])
    call expect(name//': into a section', all(abs(wide(3:4, :, 5:6) - whole(3:4, :, 5:6)) <= 0))
  end subroutine

  !> Arrays of four dimensions and every type, lists, regions, deferred writes, texts and attributes, in one engine.
  subroutine check_everything(engine)
    character(len=*), intent(in) :: engine
    real(real64), target :: f(nx, ny, 2, 3)
    real(real32) :: few(2, 1, 1, 2)
    integer(int32) :: numbers(nx, ny, 2, 3), one_number(1, 1, 1, 3)
    integer(int64) :: line(2), big, written, read, steps_written, dropped, skipped, unread
    real(real64) :: plane(nx, 4, 1), seconds
    real(real64), allocatable :: particles(:, :), reals(:)
    integer(int64), allocatable :: integers(:)
    integer(int8), allocatable :: bytes(:)
    complex(real64), allocatable :: waves(:, :, :)
    character(len=:), allocatable, save :: texts(:)
    character(len=:), allocatable :: text
    character(len=tailrace_name_length), allocatable :: names(:)
    integer :: rows, columns, components, c, shape4(4)
    logical :: is_list, taken
    do c = 1, 3
      f(:, :, 1, c) = whole(:, :, 1) + 1000*c + rank
      f(:, :, 2, c) = whole(:, :, 2) + 1000*c + rank
    end do
    numbers = nint(f, int32)
    shape4 = [nx, ny, 2*ranks, 3]
    call series%open(trim(path)//'-'//engine, 'w', MPI_COMM_WORLD, engine=engine)
    call series%begin_step(1, 0.5d0)
    call series%step_taken(taken)
    call series%dropped(dropped, skipped, unread)
    call expect('step taken', taken .and. dropped + skipped + unread == 0)
    call series%write('f', f, shape4, [1, 1, 2*rank + 1, 1])
    call series%write('numbers', numbers, shape4, [1, 1, 2*rank + 1, 1])
    call series%write_deferred('later', f(:, :, :, 2), [nx, ny, 2*ranks], [1, 1, 2*rank + 1])
    call series%write_region('every', f(:, :, :, 1), [nx, ny, 2*ranks], [1, 1, 2*rank + 1], first=[1, 1, 2], &
      points=[nx, 4, 1], stride=[1, 2, 1])
    call series%write('line', int([rank, -rank], int64), [2*ranks], [2*rank + 1])
    call series%write('waves', cmplx(f(:, :, :, 1), -f(:, :, :, 2), real64), [nx, ny, 2*ranks], [1, 1, 2*rank + 1])
    call series%write('few', int([rank, -rank], int8), [2*ranks], [2*rank + 1])
    allocate (particles(2, mod(rank, 3)))
    particles = rank
    call series%write_list('particles', particles)
    call series%write_list('ids', [rank, rank])
    call series%write_scalar('big', 2_int64**60 + 1)
    call series%write_scalar('count', 7)
    call series%write_scalar('note', 'two words')
    call series%set_attribute('case', 'tgv')
    call series%set_attribute('line/range', [0.5d0, 1.5d0])
    call series%set_attribute('modes', [2_int64, 3_int64, 2_int64**60])
    if (engine /= 'bp4') call series%set_attribute('names', [character(len=5) :: 'ux', '', 'a b'])
    call series%end_step()
    call series%counters(written, read, steps_written)
    call expect('bytes written', written >= 8*size(f) + 4*size(numbers) .and. steps_written == 1)
    call series%close()

    call series%open(trim(path)//'-'//engine, 'r', MPI_COMM_WORLD)
    call series%components(1, 'f', components)
    call expect('components', components == 3)
    call series%read(1, 'f', few, [3, 4, 2*ranks, 2])
    call expect('4d', all(nint(few(:, 1, 1, 2)) == nint(whole(3:4, 4, 2)) + 3000 + ranks - 1))
    call series%read(1, 'numbers', one_number, [3, 4, 1, 1])
    call expect('4d int32', all(one_number(1, 1, 1, :) == nint(whole(3, 4, 1)) + [1000, 2000, 3000]))
    call series%read(1, 'every', plane, [1, 1, 1])
    call expect('region', all(abs(plane(:, :, 1) - whole(:, 1:7:2, 2) - 1000) <= 0))
    call series%read(1, 'later', plane, [1, 1, 1])
    call expect('deferred', all(abs(plane(:, :, 1) - whole(:, 1:4, 1) - 2000) <= 0))
    call series%read(1, 'line', line, [2*ranks - 1])
    call expect('int64', all(line == [ranks - 1, 1 - ranks]))
    call series%variable(1, 'waves', shape, type, is_list)
    allocate (waves(nx, ny, 1), bytes(2))
    call series%read(1, 'waves', waves, [1, 1, 2*rank + 1])
    call expect('complex', type == tailrace_complex128 .and. all(abs(waves(:, :, 1) - &
      cmplx(f(:, :, 1, 1), -f(:, :, 1, 2), real64)) <= 0))
    call series%variable(1, 'few', shape, type, is_list)
    call series%read(1, 'few', bytes, [2*rank + 1])
    call expect('int8', type == tailrace_int8 .and. all(bytes == [rank, -rank]))
    if (engine /= 'bp4') then
      call series%get_attribute('names', texts)
      call expect('texts', size(texts) == 3 .and. len(texts) == 3 .and. all(texts == [character(len=3) :: 'ux', '', 'a b']))
    end if
    call series%rows(1, 'particles', rows, columns)
    call expect('rows', rows == sum([(mod(c, 3), c=0, ranks - 1)]) .and. columns == 2)
    deallocate (particles)
    allocate (particles(2, 1))
    if (ranks > 1) call series%read_list(1, 'particles', particles, first=1)
    if (ranks > 1) call expect('particles', all(nint(particles) == 1))
    call series%variable(1, 'ids', shape, type, is_list)
    call expect('list', is_list .and. type == tailrace_int32 .and. all(shape == [1, 2*ranks, 1]))
    call series%read_scalar(1, 'big', big)
    call series%read_scalar(1, 'note', text)
    call expect('scalars', big == 2_int64**60 + 1 .and. text == 'two words')
    call series%get_attribute('case', text)
    call series%get_attribute('line/range', reals)
    call series%get_attribute('modes', integers)
    call expect('attributes', text == 'tgv' .and. all(abs(reals - [0.5d0, 1.5d0]) <= 0) .and. integers(3) == 2_int64**60)
    call series%attributes(names)
    call expect('names of attributes', size(names) == merge(3, 4, engine == 'bp4') .and. names(2) == 'line/range')
    call series%variables(1, names)
    call expect('names of variables', size(names) == 13 .and. any(names == 'numbers_3'))
    call series%verify(1, text)
    call expect('verify', text == '')
    call series%notes(text)
    call series%seconds('read', seconds)
    call expect('seconds', seconds > 0)
    call series%read_scalar(1, 'note', big, stat=status, errmsg=message)
    call expect_error('read_scalar: ', 'a text is no integer', tailrace_input_error, 'no integer')
    call series%close()
  end subroutine
end program
