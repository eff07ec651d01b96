! Tailrace's series for programs in Fortran 2008.
!
!   use tailrace
!   type(tailrace_series) :: out
!   call out%open('run.bp', 'w', MPI_COMM_WORLD)
!   call out%begin_step(100, 0.25d0)
!   call out%write('ux', ux, shape=[nx, ny, nz], start=xstart)
!   call out%end_step()
!   call out%close()
!
! Arrays are (x, y, z) and all indices count from 1, also positions of steps; texts of errors count from 0. Grid variables have
! rank 1 to 3, real32 or real64; those of lower rank are stored with trailing ones. There are none of integers or of rank 4.
!
! Every procedure but free takes the optional arguments `stat` (0: all went well) and `errmsg` (unchanged then). Without
! `stat` an error stops the program. Calls are collective over the communicator, but for set, set_grid, set_rewind, box, steps,
! step, variable and read_scalar. `comm` is the integer of mpif.h and `use mpi`, in mpi_f08 `comm%mpi_val`.
module tailrace
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_int, c_int64_t, c_null_char, c_null_ptr, c_ptr, c_size_t, &
    c_associated, c_f_pointer
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64
  implicit none
  private
  public :: tailrace_series, tailrace_decomposition

  integer, parameter, public :: tailrace_input_error = 1, tailrace_io_error = 2, tailrace_other_error = 3
  !> How the numbers of a grid variable are stored.
  integer, parameter, public :: tailrace_float32 = 4, tailrace_float64 = 8

  !> An ordered set of steps in one place. Do not copy an open one: both would be the same series.
  type :: tailrace_series
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, public :: set => series_set
    procedure, public :: set_grid => series_set_grid
    procedure, public :: set_rewind => series_set_rewind
    procedure, public :: open => series_open
    procedure, public :: close => series_close
    procedure, public :: declare => series_declare
    procedure, public :: begin_step => series_begin_step
    procedure, public :: write_scalar => series_write_scalar
    procedure, public :: end_step => series_end_step
    procedure, public :: steps => series_steps
    procedure, public :: step => series_step
    procedure, public :: variable => series_variable
    procedure, public :: read_scalar => series_read_scalar
    procedure, private :: write_real32_1d, write_real32_2d, write_real32_3d, &
      write_real64_1d, write_real64_2d, write_real64_3d
    procedure, private :: read_real32_1d, read_real32_2d, read_real32_3d, &
      read_real64_1d, read_real64_2d, read_real64_3d
    !> call out%write(name, array, shape, start, ghosts): this rank's block of a variable of a global shape, from `start` on.
    !> The array is the block with ghosts(d) points (default 0) before and after it in direction d, which are not written.
    generic, public :: write => write_real32_1d, write_real32_2d, write_real32_3d, &
      write_real64_1d, write_real64_2d, write_real64_3d
    !> call in%read(step, name, array, start): fills the array with the box of its size that begins at `start`.
    generic, public :: read => read_real32_1d, read_real32_2d, read_real32_3d, &
      read_real64_1d, read_real64_2d, read_real64_3d
  end type

  !> A global shape shared over rows x cols ranks, for programs that do not share it themselves.
  type :: tailrace_decomposition
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure, public :: create => decomposition_create
    procedure, public :: box => decomposition_box
    procedure, public :: free => decomposition_free
  end type

  interface
    function c_error_text() bind(c, name='tailrace_error_text') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    function c_decomposition_new(self, comm, shape, rows, cols) &
      bind(c, name='tailrace_decomposition_new_f') result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), intent(inout) :: self
      integer(c_int), value :: comm, rows, cols
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int) :: status
    end function
    function c_decomposition_box(self, direction, start, count) &
      bind(c, name='tailrace_decomposition_box') result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int), value :: direction
      integer(c_int64_t), intent(inout) :: start(*), count(*)
      integer(c_int) :: status
    end function
    subroutine c_decomposition_free(self) &
      bind(c, name='tailrace_decomposition_free')
      import :: c_ptr
      type(c_ptr), intent(inout) :: self
    end subroutine
    function c_new(self) &
      bind(c, name='tailrace_new') result(status)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: self
      integer(c_int) :: status
    end function
    subroutine c_free(self) &
      bind(c, name='tailrace_free')
      import :: c_ptr
      type(c_ptr), intent(inout) :: self
    end subroutine
    function c_set_parameter(self, name, value) &
      bind(c, name='tailrace_set_parameter') result(status)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: self
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int) :: status
    end function
    function c_set_grid(self, points, origin, spacing) &
      bind(c, name='tailrace_set_grid') result(status)
      import :: c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), intent(in) :: points(*)
      real(c_double), intent(in) :: origin(*), spacing(*)
      integer(c_int) :: status
    end function
    function c_set_rewind(self, index) &
      bind(c, name='tailrace_set_rewind') result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: index
      integer(c_int) :: status
    end function
    function c_open(self, comm, path, mode, engine) &
      bind(c, name='tailrace_open_f') result(status)
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: self
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: path(*), mode(*), engine(*)
      integer(c_int) :: status
    end function
    function c_close(self) &
      bind(c, name='tailrace_close') result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: self
      integer(c_int) :: status
    end function
    function c_declare(self, name, dimensions, shape, type) &
      bind(c, name='tailrace_declare') result(status)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions, type
      integer(c_int64_t), intent(in) :: shape(*)
      integer(c_int) :: status
    end function
    function c_begin_step(self, index, time) &
      bind(c, name='tailrace_begin_step') result(status)
      import :: c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: index
      real(c_double), value :: time
      integer(c_int) :: status
    end function
    function c_write_scalar(self, name, value) &
      bind(c, name='tailrace_write_scalar') result(status)
      import :: c_char, c_double, c_int, c_ptr
      type(c_ptr), value :: self
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: value
      integer(c_int) :: status
    end function
    function c_end_step(self) &
      bind(c, name='tailrace_end_step') result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: self
      integer(c_int) :: status
    end function
    function c_steps(self, steps) &
      bind(c, name='tailrace_steps') result(status)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), intent(inout) :: steps
      integer(c_int) :: status
    end function
    function c_step(self, step, index, time) &
      bind(c, name='tailrace_step') result(status)
      import :: c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: step
      integer(c_int64_t), intent(inout) :: index
      real(c_double), intent(inout) :: time
      integer(c_int) :: status
    end function
    function c_variable(self, step, name, shape, type) &
      bind(c, name='tailrace_variable') result(status)
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: step
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: shape(*)
      integer(c_int), intent(inout) :: type
      integer(c_int) :: status
    end function
    function c_read_scalar(self, step, name, value) &
      bind(c, name='tailrace_read_scalar') result(status)
      import :: c_char, c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: step
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), intent(inout) :: value
      integer(c_int) :: status
    end function
    function c_write_float(self, name, dimensions, shape, start, count, ghosts, data) &
      bind(c, name='tailrace_write_float') result(status)
      import :: c_char, c_float, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), ghosts(*)
      real(c_float), intent(in) :: data(*)
      integer(c_int) :: status
    end function
    function c_read_float(self, step, name, dimensions, start, count, data) &
      bind(c, name='tailrace_read_float') result(status)
      import :: c_char, c_float, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: step
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions
      integer(c_int64_t), intent(in) :: start(*), count(*)
      real(c_float), intent(inout) :: data(*)
      integer(c_int) :: status
    end function
    function c_write_double(self, name, dimensions, shape, start, count, ghosts, data) &
      bind(c, name='tailrace_write_double') result(status)
      import :: c_char, c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions
      integer(c_int64_t), intent(in) :: shape(*), start(*), count(*), ghosts(*)
      real(c_double), intent(in) :: data(*)
      integer(c_int) :: status
    end function
    function c_read_double(self, step, name, dimensions, start, count, data) &
      bind(c, name='tailrace_read_double') result(status)
      import :: c_char, c_double, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: self
      integer(c_int64_t), value :: step
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions
      integer(c_int64_t), intent(in) :: start(*), count(*)
      real(c_double), intent(inout) :: data(*)
      integer(c_int) :: status
    end function
  end interface

contains

  ! ---- errors and arguments ----

  !> Hands a status over to the caller, or stops the program where the caller does not want it.
  subroutine report(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    if (present(stat)) stat = int(status)
    if (status == 0) return
    if (present(errmsg)) errmsg = error_text()
    if (present(stat)) return
    write (error_unit, '(2a)') 'tailrace: ', error_text()
    error stop 1
  end subroutine

  function error_text() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: address
    integer :: i
    address = c_error_text()
    call c_f_pointer(address, letters, [int(c_strlen(address))])
    allocate (character(len=size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  pure function c_text(text) result(terminated)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: terminated
    terminated = trim(text)//c_null_char
  end function

  !> Indices as C counts them. A wrong number of them becomes an impossible one, which all ranks refuse together.
  pure function indices_of(dimensions, given, offset) result(indices)
    integer, intent(in) :: dimensions, given(:), offset
    integer(c_int64_t) :: indices(dimensions)
    indices = -1
    if (size(given) == dimensions) indices = int(given, c_int64_t) + offset
  end function

  pure function ghosts_of(dimensions, ghosts) result(width)
    integer, intent(in) :: dimensions
    integer, intent(in), optional :: ghosts(:)
    integer(c_int64_t) :: width(dimensions)
    width = 0
    if (present(ghosts)) width = indices_of(dimensions, ghosts, 0)
  end function

  !> Makes the handle where there is none yet.
  function make(self) result(status)
    class(tailrace_series), intent(inout) :: self
    integer(c_int) :: status
    status = 0
    if (.not. c_associated(self%handle)) status = c_new(self%handle)
  end function

  ! ---- decomposition ----

  !> rows or cols 0: what the other leaves; both 0: slabs.
  subroutine decomposition_create(self, comm, shape, rows, cols, stat, errmsg)
    class(tailrace_decomposition), intent(inout) :: self
    integer, intent(in) :: comm, shape(3), rows, cols
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call self%free()
    call report(c_decomposition_new(self%handle, int(comm, c_int), int(shape, c_int64_t), int(rows, c_int), &
      int(cols, c_int)), stat, errmsg)
  end subroutine

  !> This rank's box in the pencil that is whole along `direction` (1, 2, 3 for x, y, z).
  subroutine decomposition_box(self, direction, start, count, stat, errmsg)
    class(tailrace_decomposition), intent(in) :: self
    integer, intent(in) :: direction
    integer, intent(out) :: start(3), count(3)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: c_start(3), c_count(3)
    c_start = 0
    c_count = 0
    call report(c_decomposition_box(self%handle, int(direction - 1, c_int), c_start, c_count), stat, errmsg)
    start = int(c_start) + 1
    count = int(c_count)
  end subroutine

  subroutine decomposition_free(self)
    class(tailrace_decomposition), intent(inout) :: self
    call c_decomposition_free(self%handle)
  end subroutine

  ! ---- series: opening and closing ----

  !> A parameter of the next open, such as ('sync', 'on').
  subroutine series_set(self, name, value, stat, errmsg)
    class(tailrace_series), intent(inout) :: self
    character(len=*), intent(in) :: name, value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    status = make(self)
    if (status == 0) status = c_set_parameter(self%handle, c_text(name), c_text(value))
    call report(status, stat, errmsg)
  end subroutine

  !> Point (1, 1, 1) is at `origin`, its neighbours `spacing` away.
  subroutine series_set_grid(self, points, origin, spacing, stat, errmsg)
    class(tailrace_series), intent(inout) :: self
    integer, intent(in) :: points(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    status = make(self)
    if (status == 0) status = c_set_grid(self%handle, int(points, c_int64_t), origin, spacing)
    call report(status, stat, errmsg)
  end subroutine

  !> The next open, with mode 'a', drops the steps whose index is larger.
  subroutine series_set_rewind(self, index, stat, errmsg)
    class(tailrace_series), intent(inout) :: self
    integer, intent(in) :: index
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    status = make(self)
    if (status == 0) status = c_set_rewind(self%handle, int(index, c_int64_t))
    call report(status, stat, errmsg)
  end subroutine

  !> Mode 'w' writes, 'a' appends, 'r' reads. Engine 'bp5', 'hdf5' or 'raw'; without it the path chooses.
  subroutine series_open(self, path, mode, comm, engine, stat, errmsg)
    class(tailrace_series), intent(inout) :: self
    character(len=*), intent(in) :: path, mode
    integer, intent(in) :: comm
    character(len=*), intent(in), optional :: engine
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: chosen
    integer(c_int) :: status
    chosen = ''
    if (present(engine)) chosen = engine
    status = make(self)
    if (status == 0) status = c_open(self%handle, int(comm, c_int), c_text(path), c_text(mode), c_text(chosen))
    call report(status, stat, errmsg)
  end subroutine

  !> Also after an error the series is closed, and may be opened again.
  subroutine series_close(self, stat, errmsg)
    class(tailrace_series), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    status = c_close(self%handle)
    call c_free(self%handle)
    call report(status, stat, errmsg)
  end subroutine

  ! ---- writing ----

  !> Optional: fixes the shape and the stored type, which otherwise the first write does.
  subroutine series_declare(self, name, shape, type, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    integer, intent(in) :: shape(:), type
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call report(c_declare(self%handle, c_text(name), size(shape, kind=c_int), int(shape, c_int64_t), &
      int(type, c_int)), stat, errmsg)
  end subroutine

  !> `index` must be larger than that of the step before.
  subroutine series_begin_step(self, index, time, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: index
    real(real64), intent(in) :: time
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call report(c_begin_step(self%handle, int(index, c_int64_t), time), stat, errmsg)
  end subroutine

  !> One number per step; that of the first rank is stored.
  subroutine series_write_scalar(self, name, value, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call report(c_write_scalar(self%handle, c_text(name), value), stat, errmsg)
  end subroutine

  subroutine series_end_step(self, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call report(c_end_step(self%handle), stat, errmsg)
  end subroutine

  ! ---- reading: `step` is a position, from 1 to the number of steps ----

  !> Number of complete steps.
  subroutine series_steps(self, steps, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(out) :: steps
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    found = 0
    call report(c_steps(self%handle, found), stat, errmsg)
    steps = int(found)
  end subroutine

  !> Index and time of a step.
  subroutine series_step(self, step, index, time, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    integer, intent(out) :: index
    real(real64), intent(out) :: time
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    found = 0
    time = 0
    call report(c_step(self%handle, int(step - 1, c_int64_t), found, time), stat, errmsg)
    index = int(found)
  end subroutine

  !> Global shape and stored type (tailrace_float32 or tailrace_float64) of a grid variable.
  subroutine series_variable(self, step, name, shape, type, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    integer, intent(out) :: shape(3)
    integer, intent(out), optional :: type
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: c_shape(3)
    integer(c_int) :: c_type
    c_shape = 0
    c_type = 0
    call report(c_variable(self%handle, int(step - 1, c_int64_t), c_text(name), c_shape, c_type), stat, errmsg)
    shape = int(c_shape)
    if (present(type)) type = int(c_type)
  end subroutine

  subroutine series_read_scalar(self, step, name, value, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real64), intent(out) :: value
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    value = 0
    call report(c_read_scalar(self%handle, int(step - 1, c_int64_t), c_text(name), value), stat, errmsg)
  end subroutine

  ! ---- write and read, one for each kind and rank ----

  subroutine write_real32_1d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in), contiguous :: array(:)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(1), width(1)
    extent = [size(array, 1, c_int64_t)]
    width = ghosts_of(1, ghosts)
    call report(c_write_float(self%handle, c_text(name), 1_c_int, indices_of(1, shape, 0), indices_of(1, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real32_1d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real32), intent(inout), contiguous :: array(:)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(1)
    extent = [size(array, 1, c_int64_t)]
    call report(c_read_float(self%handle, int(step - 1, c_int64_t), c_text(name), 1_c_int, indices_of(1, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

  subroutine write_real32_2d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in), contiguous :: array(:, :)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(2), width(2)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t)]
    width = ghosts_of(2, ghosts)
    call report(c_write_float(self%handle, c_text(name), 2_c_int, indices_of(2, shape, 0), indices_of(2, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real32_2d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real32), intent(inout), contiguous :: array(:, :)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(2)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t)]
    call report(c_read_float(self%handle, int(step - 1, c_int64_t), c_text(name), 2_c_int, indices_of(2, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

  subroutine write_real32_3d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real32), intent(in), contiguous :: array(:, :, :)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(3), width(3)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t), size(array, 3, c_int64_t)]
    width = ghosts_of(3, ghosts)
    call report(c_write_float(self%handle, c_text(name), 3_c_int, indices_of(3, shape, 0), indices_of(3, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real32_3d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real32), intent(inout), contiguous :: array(:, :, :)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(3)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t), size(array, 3, c_int64_t)]
    call report(c_read_float(self%handle, int(step - 1, c_int64_t), c_text(name), 3_c_int, indices_of(3, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

  subroutine write_real64_1d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in), contiguous :: array(:)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(1), width(1)
    extent = [size(array, 1, c_int64_t)]
    width = ghosts_of(1, ghosts)
    call report(c_write_double(self%handle, c_text(name), 1_c_int, indices_of(1, shape, 0), indices_of(1, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real64_1d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real64), intent(inout), contiguous :: array(:)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(1)
    extent = [size(array, 1, c_int64_t)]
    call report(c_read_double(self%handle, int(step - 1, c_int64_t), c_text(name), 1_c_int, indices_of(1, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

  subroutine write_real64_2d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in), contiguous :: array(:, :)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(2), width(2)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t)]
    width = ghosts_of(2, ghosts)
    call report(c_write_double(self%handle, c_text(name), 2_c_int, indices_of(2, shape, 0), indices_of(2, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real64_2d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real64), intent(inout), contiguous :: array(:, :)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(2)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t)]
    call report(c_read_double(self%handle, int(step - 1, c_int64_t), c_text(name), 2_c_int, indices_of(2, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

  subroutine write_real64_3d(self, name, array, shape, start, ghosts, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    character(len=*), intent(in) :: name
    real(real64), intent(in), contiguous :: array(:, :, :)
    integer, intent(in) :: shape(:), start(:)
    integer, intent(in), optional :: ghosts(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(3), width(3)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t), size(array, 3, c_int64_t)]
    width = ghosts_of(3, ghosts)
    call report(c_write_double(self%handle, c_text(name), 3_c_int, indices_of(3, shape, 0), indices_of(3, start, -1), &
      extent - 2*width, width, array), stat, errmsg)
  end subroutine

  subroutine read_real64_3d(self, step, name, array, start, stat, errmsg)
    class(tailrace_series), intent(in) :: self
    integer, intent(in) :: step
    character(len=*), intent(in) :: name
    real(real64), intent(inout), contiguous :: array(:, :, :)
    integer, intent(in) :: start(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: extent(3)
    extent = [size(array, 1, c_int64_t), size(array, 2, c_int64_t), size(array, 3, c_int64_t)]
    call report(c_read_double(self%handle, int(step - 1, c_int64_t), c_text(name), 3_c_int, indices_of(3, start, -1), &
      extent, array), stat, errmsg)
  end subroutine

end module
