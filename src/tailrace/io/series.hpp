#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/trace.hpp>
#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// Options for opening a series. All are optional.
struct Options {
  /// One of engine_names(). If empty: when reading or appending, the engine that wrote the files; else TAILRACE_ENGINE;
  /// else the engine for the path: .bp is bp5, .bp4 is bp4, .h5 .hdf .hdf5 .vtkhdf are hdf5, .sion is sion, .adios_hdf5
  /// is adios_hdf5, sst:NAME is a stream, a directory is raw.
  std::string engine;
  /// The engine's own parameters by their names, and for every engine:
  /// `checksums` (on: end_step stores a checksum of every block, and `verify` compares them),
  /// `sync` (off: end_step does not wait for the disk),
  /// `buffers` (0: write and end_step return when the data is written; n: they return when the data is copied, and the
  /// background writes at most n steps at a time; the next begin_step, flush or close throws errors of the background),
  /// `stripe_count`, `stripe_size` (of new files on Lustre), `trace`, `folded` (files to which close writes the times
  /// of all events, as a Chrome trace and as folded stacks). These parameters override TAILRACE_PARAMETERS. Throws
  /// InputError for an unknown name.
  std::map<std::string, std::string> parameters;
  /// Lets other programs draw the variables in their position. Without a grid the points have unit spacing.
  std::optional<GridDescription> grid;
  /// Stored type of floating-point variables that were not declared; by default the type of their first write.
  std::optional<Type> precision;
  /// Appending: drop the steps with a larger index, for a run that resumes at this step.
  std::optional<std::int64_t> rewind_to;
};

/// The arguments of a write as one value, for bindings of other languages.
struct WriteRequest {
  std::string name;
  Type type = Type::float64;
  const void *data = nullptr; ///< first value of `place.memory`
  Placement place;
  std::optional<std::int64_t> components{}; ///< of a four-dimensional array, see components.hpp
  std::optional<Region> region{};           ///< only these points are stored, and at once: never deferred
  Put put = Put::sync;
  bool list = false; ///< `place.block.count` is (columns, rows, 1); its start is computed
};

/// A whole step as one value.
struct StepRequest {
  std::int64_t index = 0; ///< larger than that of the previous step
  double time = 0;        ///< that of rank 0 is stored
  std::vector<WriteRequest> arrays;
  Scalars scalars; ///< those of rank 0 are stored, under names that are the same on all ranks
};

/// The arguments of a read as one value.
struct ReadRequest {
  std::string name;
  Type type = Type::float64;
  Box box;
  void *data = nullptr;                     ///< contiguous, x fastest
  std::optional<std::int64_t> components{}; ///< number of components to read, of a four-dimensional array
  std::int64_t first = 0;                   ///< the first of these components
};

/// An ordered set of steps at one path: written, appended to or read. The functions are the same for every engine.
///
/// All functions are collective over the communicator and, if they fail, throw the same error on every rank; any rank
/// may call a function marked local alone. Errors: InputError if the caller asks for something impossible, IoError if
/// the file system or the files prevent it. An IoError inside a step drops that step and keeps the earlier ones, and
/// the series takes the next step. A stream cannot drop a step of which ADIOS2 has the first array: after an IoError
/// there it takes no more steps, like a bp series with the asynchronous writing of ADIOS2 itself.
///
/// Several threads may use one series: each call waits for those of other threads. Of several ranks, threads must call
/// in the same order on all. A process that fork makes has no right to a series of the other one: every call there but
/// abandon_step is an InputError, and its end does nothing.
///
///     auto out = Series("run.bp", Mode::write, comm);
///     out.begin_step(100, 0.25);
///     out.write("ux", field.data(), {shape, block, block});
///     out.end_step();
///     out.close();
class Series {
public:
  Series(const std::string &path, Mode mode, const Communicator &comm, const Options &options = {});
  /// Local: a series that is not closed keeps its complete steps and drops an open one.
  ~Series();
  Series(Series &&) noexcept;
  Series &operator=(Series &&) noexcept;

  const std::string &path() const;          ///< local
  Mode mode() const;                        ///< local
  const std::string &engine() const;        ///< name of the engine in use; local
  const Communicator &communicator() const; ///< local

  // ---- writing ----
  /// Sets the global shape and the stored type of a grid variable before its first write, which otherwise sets them.
  void declare(const std::string &name, const Index3 &shape, Type stored);
  /// `index` must be larger than that of the previous step; `time` of rank 0 is stored. Returns whether the step is
  /// taken. Files take every step; a stream may leave it out, see `policy` in docs/io/sst.md. Writes to a step that is
  /// not taken are checked and ignored, so callers may skip them but need not; end_step is still required. With
  /// `buffers` the stream decides later, and this returns true.
  bool begin_step(std::int64_t index, double time);
  bool step_taken() const; ///< the result of the last begin_step; local
  /// The index of the last step that began, or else of the last existing step; empty: there is no step. Local.
  std::optional<std::int64_t> last_index() const;
  /// Writes this rank's block of a grid variable. The blocks of all ranks must fill the whole shape. `data` points to
  /// the first value of `place.memory`. The caller may reuse `data` when this returns. Put::deferred makes no copy:
  /// then the caller may reuse `data` only after end_step. A deferred array that changes before is an InputError,
  /// unless `checksums` are off.
  template <class T> void write(const std::string &name, const T *data, const Placement &place, Put put = Put::sync) {
    write(name, type_of<T>(), data, place, put);
  }
  void write(const std::string &name, Type type, const void *data, const Placement &place, Put put = Put::sync);
  /// Writes an array of any kind; `make` returns the request. If `make` throws, all ranks throw. All ranks also throw
  /// if their requests differ in name, type, shape or components.
  void write(const std::function<WriteRequest()> &make);
  /// Stores only the points of `region`, as a variable of `region.count` points. `place` is the place in the whole
  /// variable. Ranks without points of the region must call this too.
  template <class T>
  void write_region(const std::string &name, const T *data, const Placement &place, const Region &region) {
    write_region(name, type_of<T>(), data, place, region);
  }
  void write_region(const std::string &name, Type type, const void *data, const Placement &place, const Region &region);
  /// Writes this rank's rows of a list: particles, probes, elements. Each rank may have any number of rows, also none;
  /// they are stored in the order of the ranks. `data`: rows x columns values, row by row.
  template <class T>
  void write_list(const std::string &name, const T *data, std::int64_t rows, std::int64_t columns = 1) {
    write_list(name, type_of<T>(), data, rows, columns);
  }
  void write_list(const std::string &name, Type type, const void *data, std::int64_t rows, std::int64_t columns = 1);
  /// Stores one number or text of rank 0 in the step. "time" and "step" exist already.
  void write_scalar(const std::string &name, const Scalar &value);
  /// Sets an attribute of the series, or of a variable with the name "variable/name". The value of rank 0 is stored
  /// with the next step, or by close after the last step.
  void set_attribute(const std::string &name, const Attribute &value);
  void end_step();
  /// Drops the open step: the series is as it was before begin_step. Without an open step it does nothing. Local, but
  /// all ranks must drop the same step.
  void abandon_step();
  /// Writes a whole step. `make` returns it. If `make` throws, all ranks throw. All arguments are checked on all ranks
  /// before the step begins, and a step that fails later is dropped: after an error the series is as it was before.
  void write_step(const std::function<StepRequest()> &make);
  /// Waits until every ended step is written; throws errors of the background. Without `buffers` this does not wait.
  void flush();
  /// Closes everything and stores late attributes, then throws the first error, also of the background.
  void close();
  /// The last 100 000 steps that a stream has left out, on rank 0; empty on other ranks and for files. Also valid after
  /// close. Waits for the background. Local.
  std::vector<LeftOut> dropped() const;
  /// The costs of a stream in both programs, on rank 0. For writers and readers, also valid after close. Waits for the
  /// background. Local.
  Coupling coupling() const;

  /// Runs `work` while no other thread uses the series. Local.
  void alone(const std::function<void()> &work) const;
  /// Runs `work`, which must not communicate, while the other ranks call this or any other collective function of the
  /// series. If `work` throws on any rank, all ranks throw. Lets callers report their own errors.
  void agree(const std::function<void()> &work) const;

  // ---- reading ----
  /// The paths of the files of the series; for BP its directory. Local.
  std::vector<std::string> files() const;
  const std::vector<StepInfo> &steps() const; ///< the complete steps; for a stream those received so far; local
  /// Whether next_step delivers the steps one by one. Local.
  bool streaming() const;
  /// Streams: waits for the next step, and only that step can be read afterwards; false: the writer has ended. Throws
  /// IoError after `timeout` seconds; if negative, the parameter `timeout` applies. Other series have all their steps
  /// from the beginning and return false.
  bool next_step(double timeout);
  std::optional<GridDescription> grid() const; ///< the stored grid, if any; local
  Attributes attributes() const;               ///< local
  /// The variables of `step`, a position in steps(). Local.
  std::vector<VariableInfo> variables(std::size_t step) const;
  VariableInfo variable(std::size_t step, const std::string &name) const;
  Scalars scalars(std::size_t step) const;
  /// The indices of the steps that the writer of a stream has left out since the previous step that was read; at most a
  /// million. Always empty for files. Local.
  std::vector<std::int64_t> missed(std::size_t step) const;
  /// Fills `data` (contiguous, x fastest) with any box, also an empty one, of a grid variable; each rank has its own
  /// box. Converts values that are stored in another precision.
  template <class T> void read(std::size_t step, const std::string &name, const Box &box, T *data) const {
    read(step, name, type_of<T>(), box, data);
  }
  void read(std::size_t step, const std::string &name, Type type, const Box &box, void *data) const;
  /// Reads any kind of array; `make` returns the request. If `make` throws, all ranks throw.
  void read(std::size_t step, const std::function<ReadRequest()> &make) const;
  /// Compares a step with its checksums; returns one line for each damage. Empty: no damage, or no checksums.
  /// Reads at most 64 MiB, or one row, at a time. Throws IoError if the connection of a stream is lost.
  std::vector<std::string> verify(std::size_t step) const;
  /// The variables of a step without checksums, which `verify` cannot check. Local.
  std::vector<std::string> unchecked(std::size_t step) const;
  /// Whether the blocks of a step are described in a table of numbers, as where many ranks write, and not in text.
  /// Local.
  bool has_table(std::size_t step) const;

  /// Damage besides the data of steps, one line each; steps() omits steps whose records are damaged. Local.
  std::vector<std::string> damage() const;

  /// Bytes that this rank has written and read so far. Local.
  Counters counters() const;
  /// The time that this rank spent in each phase. Local.
  const Trace &trace() const;
  /// Information about the series: striping, automatic choices and their reasons, failed requests; of streams also what
  /// has failed since. Rank 0 has all of them. Local.
  std::vector<std::string> notes() const;

private:
  class Implementation;
  std::unique_ptr<Implementation> self_;
};

/// The engine for a path, see Options::engine. Local. Throws InputError for an unknown extension.
std::string engine_for(const std::string &path);

} // namespace tailrace::io
