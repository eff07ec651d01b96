#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/writing/async_writer.hpp>
#include <tailrace/io/writing/step_writer.hpp>
#include <tailrace/support/file_lock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// The parts of a Series: series_reading.cpp opens and reads, series_writing.cpp writes.
class Series::Implementation {
public:
  Implementation(const std::string &path, Mode mode, const Communicator &comm, const Options &options);
  ~Implementation();

  /// A call by one thread: others wait. Throws InputError in a process that is a copy of the one that opened the
  /// series.
  class Turn {
  public:
    explicit Turn(const Implementation &self);

  private:
    std::unique_lock<std::recursive_mutex> lock_;
  };
  /// Whether this process is a copy, made by fork, of the one that opened the series. What the other one has open,
  /// locks and writes is not this one's to end.
  bool is_copy() const;
  /// Whether only one thread of a process may use the engine's library.
  bool shares_library() const { return shares_library_; }

  void require_reading() const;
  void require_writing() const;
  void require_step() const;
  void require_new(const std::string &name) const;
  const StepInfo &step(std::size_t position) const;

  /// Runs `check` on this rank and shares its error and the numbers in the tally with all ranks, in one reduction.
  /// Every collective function starts with this call, so that a rank with wrong arguments can tell the others.
  /// Collective; the same error on all ranks.
  Tally enter(const std::function<void(Tally &)> &check) const;

  Type stored_type(const std::string &name, Type type, const Index3 &shape, bool list) const;
  Block block_of(const WriteRequest &request, std::int64_t component, std::vector<char> &packed) const;
  Block check_write(const WriteRequest &request, std::vector<char> &packed) const;
  /// A request that all ranks have checked, and its first block.
  struct Checked {
    WriteRequest request;
    Block block;
    std::vector<char> packed; ///< the points of a region
  };
  Checked check_write(const std::function<WriteRequest()> &make) const;
  void compare_requests(const std::string &ours, const Tally &all) const;
  StepInfo check_begin(std::int64_t index, double time) const;
  void place_rows(Block &block, std::int64_t rows) const;
  void put(const Block &block, Type given);
  void take(const Block &block, const WriteRequest &request);
  void take(Checked &checked);
  void write_step(const std::function<StepRequest()> &make);
  void read(std::size_t step, const VariableInfo &info, Type type, const Box &box, void *data) const;
  void begin_step(const StepInfo &step);
  void check_deferred() const;
  void write_deferred();
  void end_step();
  void abandon_step() noexcept;
  void forget_step();
  void close();
  /// Removes the steps that the background could not write from the list of steps.
  void forget_lost();
  /// Runs a call to the writer of the open step; if the call fails, the step is lost.
  template <class Work> void in_step(Work work);

  mutable std::recursive_mutex mutex_;
  std::int64_t process_; ///< that opened the series
  bool shares_library_ = false;
  std::string path_, engine_name_;
  Mode mode_;
  Communicator comm_; ///< for the checks here; in the background the engine has its own
  std::optional<Type> precision_;
  bool with_checksums_ = true, closed_ = false;
  Counters counters_;
  mutable Trace trace_; // mutable: reading and verifying are timed too
  Notes notes_;
  std::string trace_file_, folded_file_;
  std::optional<FileLock> lock_;           ///< on rank 0, when open to write; before engine_, which must end first
  std::optional<ReplacedSeries> replaced_; ///< on rank 0, when open to write; before engine_, which uses it
  std::unique_ptr<Engine> engine_;         // after trace_ and notes_, because it uses them
  StepSink *sink_ = nullptr;               ///< the engine, if it is open to write
  StepSource *source_ = nullptr;           ///< the engine, if it is open to read
  StreamSource *stream_ = nullptr;         ///< the engine, if steps come one by one
  std::unique_ptr<StepWriter> writer_;
  std::unique_ptr<AsyncWriter> background_; // after writer_, because it uses writer_
  StepTarget *target_ = nullptr;            ///< that of the two which takes steps, if it is open to write
  std::vector<StepInfo> steps_;
  Attributes attributes_;
  bool attributes_changed_ = false;
  std::optional<StepInfo> open_step_;
  bool taken_ = true;      ///< whether the open step is taken
  bool any_begun_ = false; ///< whether a step has begun
  std::optional<std::int64_t> last_index_;
  /// A variable that has been declared or written.
  struct Known : VariableInfo {
    bool given = false; ///< its type was declared; otherwise it is that of the first write
  };
  std::map<std::string, Known> declared_, declared_before_; ///< now, and before the open step
  std::set<std::string> written_;                           ///< variables of the open step
  Scalars scalars_;                                         ///< of the open step
  struct Deferred {
    Block block;
    Type given;
    std::string sum; ///< checksum of the caller's values at the call of write
  };
  std::vector<Deferred> deferred_;
};

} // namespace tailrace::io
