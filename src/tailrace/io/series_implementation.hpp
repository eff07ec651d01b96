#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/writing/async_writer.hpp>
#include <tailrace/io/writing/step_writer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tailrace::io {

/// What a Series is made of: series.cpp opens and reads with it, series_writing.cpp writes.
class Series::Implementation {
public:
  Implementation(const std::string &path, Mode mode, const Communicator &comm, const Options &options);

  void require_writing() const;
  void require_step() const;
  void require_new(const std::string &name) const;
  const StepInfo &step(std::size_t position) const;

  Block check_own(const std::string &name, Type type, const void *data, const Placement &place, bool list) const;
  Block check_write(const std::string &name, Type type, const void *data, const Placement &place, bool list);
  void put(const Block &block, Type given);
  void write(const std::string &name, Type type, const void *data, const Placement &place, Put put, bool list);
  void check_deferred() const;
  void write_deferred();
  void end_step();
  void close();
  /// Takes the steps that the background could not write from the list of steps.
  void forget_lost();
  /// Runs a call to the writer of the open step, which is lost when it fails.
  template <class Work> void in_step(Work work);

  std::string path_, engine_name_;
  Mode mode_;
  Communicator comm_; ///< of the callers' checks; the engine has its own where it runs in the background
  std::optional<Type> precision_;
  bool with_checksums_ = true, closed_ = false;
  Counters counters_;
  mutable Trace trace_; // reading, and verifying, is time too
  std::vector<std::string> notes_;
  std::string trace_file_, folded_file_;
  std::unique_ptr<Engine> engine_; // after trace_ and notes_, which it uses
  std::optional<Writer> writer_;
  std::unique_ptr<AsyncWriter> async_; // after writer_, which it uses
  std::vector<StepInfo> steps_;
  Attributes attributes_;
  bool attributes_changed_ = false;
  std::optional<StepInfo> open_step_;
  bool taken_ = true; ///< the open step
  std::optional<std::int64_t> last_index_;
  std::map<std::string, VariableInfo> declared_;
  std::set<std::string> written_; ///< variables of the open step
  Scalars scalars_;               ///< of the open step
  struct Deferred {
    Block block;
    Type given;
    std::string sum; ///< of the caller's values when they were given
  };
  std::vector<Deferred> deferred_;
};

} // namespace tailrace::io
