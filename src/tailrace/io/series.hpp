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

/// How a series is opened. Everything is optional.
struct Options {
  /// One of engine_names(). Empty: what is there already, when reading or appending; else what TAILRACE_ENGINE says;
  /// else by the path: .bp is bp5, .bp4 bp4, .h5 .hdf .hdf5 .vtkhdf are hdf5, .sion is sion, .adios_hdf5 is adios_hdf5,
  /// sst:NAME is a stream, a directory is raw.
  std::string engine;
  /// The engine's own parameters by their own names, and for every engine
  /// `checksums` (on: end_step stores a checksum of every block, and `verify` compares them),
  /// `sync` (off: end_step does not wait for the disk),
  /// `buffers` (0: write and end_step return when it is written; n: they return when it is copied, and the rest is done
  /// in the background, with at most n steps on their way; what goes wrong there is thrown by the next begin_step,
  /// flush or close), `stripe_count`, `stripe_size` (of new files on Lustre), `trace`, `folded` (files to write at
  /// close: what was done when, as Chrome trace and as folded stacks). They win over TAILRACE_PARAMETERS. An unknown
  /// name is an InputError.
  std::map<std::string, std::string> parameters;
  /// Lets other programs draw the variables where they belong. Without it the points have unit spacing.
  std::optional<GridDescription> grid;
  /// Type in which floating-point variables are stored that were not declared; without it, the type of their first
  /// write.
  std::optional<Type> precision;
  /// Appending: drop the steps whose index is larger, as a run does that resumes there.
  std::optional<std::int64_t> rewind_to;
};

/// A write as one value, for callers that make it of another language's arguments.
struct WriteRequest {
  std::string name;
  Type type = Type::float64;
  const void *data = nullptr; ///< first value of `place.memory`
  Placement place;
  std::optional<std::int64_t> components{}; ///< of an array of four dimensions, see components.hpp
  std::optional<Region> region{};           ///< only its points are stored
  Put put = Put::sync;
  bool list = false; ///< `place.block.count` is (columns, rows, 1); where it lies in the whole follows from all ranks
};

/// A read as one value.
struct ReadRequest {
  std::string name;
  Type type = Type::float64;
  Box box;
  void *data = nullptr;                     ///< contiguous, x fastest
  std::optional<std::int64_t> components{}; ///< how many, of an array of four dimensions
  std::int64_t first = 0;                   ///< the first of them
};

/// An ordered set of steps in one place: written, appended to or read. The same verbs for every engine.
///
/// All functions are collective over the communicator and, when they fail, throw the same error on every rank; those
/// marked local may be called by any rank alone. Errors: InputError when the caller asks for something impossible,
/// IoError when the file system or the files do not allow it. An IoError inside a step drops that step and keeps the
/// earlier ones; bp4 and bp5 cannot drop a step, there the series is finished by it and takes no more.
///
///     auto out = Series("run.bp", Mode::write, comm);
///     out.begin_step(100, 0.25);
///     out.write("ux", field.data(), {shape, block, block});
///     out.end_step();
///     out.close();
class Series {
public:
  Series(const std::string &path, Mode mode, const Communicator &comm, const Options &options = {});
  /// Local: a series not closed keeps its complete steps and drops an open one.
  ~Series();
  Series(Series &&) noexcept;
  Series &operator=(Series &&) noexcept;

  const std::string &path() const;          ///< local
  Mode mode() const;                        ///< local
  const std::string &engine() const;        ///< name of the engine in use; local
  const Communicator &communicator() const; ///< local

  // ---- writing ----
  /// Fixes the global shape and the stored type of a grid variable before its first write, which otherwise does.
  void declare(const std::string &name, const Index3 &shape, Type stored);
  /// `index` must be larger than that of the step before; `time` is rank 0's. Returns whether the step is taken. Files
  /// take every step; a stream may leave it out, see `policy` in docs/io.md. What is written to a step that is not
  /// taken is checked and then ignored, so that nobody has to look, and who does can save the work; end_step ends it
  /// all the same. With `buffers` it is decided later, and the answer is true.
  bool begin_step(std::int64_t index, double time);
  bool step_taken() const; ///< what the last begin_step returned; local
  /// The index of the last step that was begun, or that is there; none: there is none. Local.
  std::optional<std::int64_t> last_index() const;
  /// Writes this rank's block of a grid variable. The blocks of all ranks must make up the whole shape. When it
  /// returns, the caller may reuse `data`, which points to the first value of `place.memory`; with Put::deferred
  /// nothing is copied, and not until end_step returns. A deferred array that has changed by then is an InputError,
  /// unless `checksums` are off.
  template <class T> void write(const std::string &name, const T *data, const Placement &place, Put put = Put::sync) {
    write(name, TypeOf<T>::value, data, place, put);
  }
  void write(const std::string &name, Type type, const void *data, const Placement &place, Put put = Put::sync);
  /// The same, and every other kind of array, with a request that `make` makes of what its caller has. It may throw:
  /// then all ranks throw. Ranks whose requests differ in name, type, shape or components throw, too.
  void write(const std::function<WriteRequest()> &make);
  /// Stores the points of `region` only, as a variable of `region.count` points. `place` is that in the whole variable;
  /// ranks that have no point of the region take part all the same.
  template <class T>
  void write_region(const std::string &name, const T *data, const Placement &place, const Region &region) {
    write_region(name, TypeOf<T>::value, data, place, region);
  }
  void write_region(const std::string &name, Type type, const void *data, const Placement &place, const Region &region);
  /// Writes this rank's rows of a list: particles, probes, elements. Each rank has as many as it likes, also none; they
  /// are stored in the order of the ranks. `data`: rows x columns values, the columns of a row together.
  template <class T>
  void write_list(const std::string &name, const T *data, std::int64_t rows, std::int64_t columns = 1) {
    write_list(name, TypeOf<T>::value, data, rows, columns);
  }
  void write_list(const std::string &name, Type type, const void *data, std::int64_t rows, std::int64_t columns = 1);
  /// One number or text per step; rank 0's is stored. "time" and "step" are there already.
  void write_scalar(const std::string &name, const Scalar &value);
  /// Sets an attribute of the series, or as "variable/name" of a variable; rank 0's is stored, with the next step.
  /// After the last step it is stored at close.
  void set_attribute(const std::string &name, const Attribute &value);
  void end_step();
  /// Waits until every step that was ended is written; throws what went wrong in the background. Without `buffers`
  /// there is nothing to wait for.
  void flush();
  /// Everything is closed, late attributes are stored, and only then is thrown what went wrong in the background.
  void close();
  /// The steps that a stream has left out: the last 100 000, in rank 0; elsewhere, and for files, none. Also after
  /// close. Waits for the background. Local.
  std::vector<LeftOut> dropped() const;
  /// What a stream has cost, of both of its ends; writing and reading, also after close; rank 0's. Waits for the
  /// background. Local.
  Coupling coupling() const;

  /// Runs `work`, which must not communicate, while the other ranks are in any collective function of this series, or
  /// do the same: when it throws on any rank, all of them throw. For what a caller finds wrong by itself.
  void agree(const std::function<void()> &work) const;

  // ---- reading ----
  const std::vector<StepInfo> &steps() const; ///< the complete steps; of a stream those that came so far; local
  /// Whether the steps come one by one, by next_step. Local.
  bool streaming() const;
  /// A stream: waits for the next step, after which only that one can be read; false when the writer has ended. Throws
  /// IoError after `timeout` seconds; below 0: after as many as the parameter `timeout` says. Other series have all
  /// their steps from the beginning, and no next one.
  bool next_step(double timeout);
  std::optional<GridDescription> grid() const; ///< as written, or none; local
  Attributes attributes() const;               ///< local
  /// What `step`, a position in steps(), holds. Local.
  std::vector<VariableInfo> variables(std::size_t step) const;
  VariableInfo variable(std::size_t step, const std::string &name) const;
  Scalars scalars(std::size_t step) const;
  /// The indices of the steps that the writer of a stream has left out since the one that was read before; at most a
  /// million. Always empty for files. Local.
  std::vector<std::int64_t> missed(std::size_t step) const;
  /// Fills `data` (contiguous, x fastest) with any box, also an empty one, of a grid variable; every rank its own.
  /// Stored values of the other precision are converted.
  template <class T> void read(std::size_t step, const std::string &name, const Box &box, T *data) const {
    read(step, name, TypeOf<T>::value, box, data);
  }
  void read(std::size_t step, const std::string &name, Type type, const Box &box, void *data) const;
  /// The same, with a request that `make` makes of what its caller has, and may throw as in `write`.
  void read(std::size_t step, const std::function<ReadRequest()> &make) const;
  /// Compares a step with its checksums; says what is damaged, one line each. Empty: all is well, or none were stored.
  /// Reads at most 64 MiB at once, or one row. Of a stream it throws IoError where the connection is lost.
  std::vector<std::string> verify(std::size_t step) const;
  /// The variables of a step that have no checksums, of which `verify` can say nothing. Local.
  std::vector<std::string> unchecked(std::size_t step) const;

  /// What was found damaged when it was opened, a line each; steps that were lost by it are not in steps(). Local.
  std::vector<std::string> damage() const;

  /// What this rank has moved so far. Local.
  Counters counters() const;
  /// Where this rank's time went. Local.
  const Trace &trace() const;
  /// What the series has to say about how it was opened: striping, what was chosen and why, what could not be. Local.
  const std::vector<std::string> &notes() const;

private:
  class Implementation;
  std::unique_ptr<Implementation> self_;
};

/// The engine a path means; see Options::engine. Local. Throws InputError for an unknown extension.
std::string engine_for(const std::string &path);

} // namespace tailrace::io
