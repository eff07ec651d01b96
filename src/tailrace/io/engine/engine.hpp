#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/engine/striping.hpp>
#include <tailrace/io/trace.hpp>
#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// Everything an engine is told when it opens a series.
struct OpenRequest {
  std::string path;
  Mode mode = Mode::read;
  Communicator comm;
  std::optional<GridDescription> grid;       ///< for engines that describe the grid to other programs
  std::optional<std::int64_t> rewind_to;     ///< appending: drop the steps with a larger index
  bool sync = false;                         ///< end_step returns when the step is on the disk
  bool background = false;                   ///< `buffers`: the engine's calls cost the caller nothing
  Striping striping;                         ///< for whoever makes the file or directory
  Trace *trace = nullptr;                    ///< never null; outlives the engine
  std::vector<std::string> *notes = nullptr; ///< never null: what the engine has chosen, for people; same on all ranks
};

/// What a step holds besides its grid variables. Rank 0's counts.
struct StepMetadata {
  Scalars scalars;
  std::string checksums; ///< JSON: name -> [[z, y, x, nz, ny, nx, sum], ...]; empty when they are switched off
};

/// How a series reaches its place, in the roles below. A Series has checked names, shapes and order before it calls; it
/// calls from all ranks in the same order. What is opened is an Engine, and a StepSink or a StepSource or both: a
/// series that is open to write or append needs a sink, one that is open to read needs a source.
class Engine {
public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  /// The steps that are there: when reading, all of them; when appending, those kept. Local, as the next four.
  virtual std::vector<StepInfo> steps() const = 0;
  virtual std::optional<GridDescription> grid() const = 0;
  virtual Attributes attributes() const = 0;
  /// What was damaged when it was opened, a line each; such steps are left out.
  virtual std::vector<std::string> damage() const { return {}; }
  /// Streams: what both ends have cost.
  virtual Coupling coupling() const { return {}; }
  /// Collective; throws the same error on all ranks.
  virtual void close() = 0;
};

/// What takes steps. Its functions are collective: they either succeed on all ranks or throw the same error on all of
/// them, and never wait for a rank that failed. With asynchronous writing they run in a thread of their own, one after
/// the other; only the communicator of the OpenRequest is theirs.
class StepSink : public virtual Engine {
public:
  /// Whether this step is to be written; asked before begin_step, which a step that is left out does not see. Files
  /// take all steps.
  virtual bool takes_step(const StepInfo & /*step*/) { return true; }
  virtual void begin_step(const StepInfo &step) = 0;
  /// When it returns, `block.data` may change.
  virtual void write(const Block &block) = 0;
  /// Makes the step visible to readers, and only then.
  virtual void end_step(const StepMetadata &metadata) = 0;
  /// Forgets the open step after an error, so that the series stays as it was before. Does not throw.
  virtual void abandon_step() noexcept = 0;
  /// All attributes of the series, including those of before; stored with the next step, or at close.
  virtual void set_attributes(const Attributes &attributes) = 0;
  /// Whether the library below keeps a copy of what is written until the step has ended. Local.
  virtual bool copies() const { return false; }
  /// Streams: the steps left out so far, in rank 0. Local.
  virtual std::vector<LeftOut> left_out() const { return {}; }
};

/// What gives steps. All functions are local. `step` is a position in steps().
class StepSource : public virtual Engine {
public:
  virtual std::vector<VariableInfo> variables(std::size_t step) const = 0;
  virtual Scalars scalars(std::size_t step) const = 0;
  /// JSON, as in StepMetadata; empty where there are none.
  virtual std::string checksums(std::size_t step) const = 0;
  /// Fills `data` with `box` (not empty, inside the shape) of a variable of `step`, in the variable's own type.
  virtual void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const = 0;
};

/// What gives steps one by one, while another program writes them. Files have all their steps from the beginning.
class StreamSource : public StepSource {
public:
  /// Waits for the next step, adds it to steps() and makes it the only one that can be read; false: there is none to
  /// come. Throws IoError after `timeout` seconds; below 0: as long as the engine's parameter `timeout` says.
  /// Collective.
  virtual bool next_step(double timeout) = 0;
  /// The indices of the steps that the writer left out before this one. Local.
  virtual std::vector<std::int64_t> missed(std::size_t step) const = 0;
};

} // namespace tailrace::io
