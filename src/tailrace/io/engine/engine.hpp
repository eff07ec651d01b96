#pragma once

#include <tailrace/io/coupling.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/engine/notes.hpp>
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/io/engine/striping.hpp>
#include <tailrace/io/storage/replaced_series.hpp>
#include <tailrace/io/trace.hpp>
#include <tailrace/io/types.hpp>
#include <tailrace/support/communicator.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The arguments with which an engine opens a series.
struct OpenRequest {
  std::string path;
  Mode mode = Mode::read; ///< write, append or read
  bool exclusive = false; ///< writing: an error if there is anything at the path
  Communicator comm;
  std::optional<GridDescription> grid;   ///< for engines that describe the grid to other programs
  std::optional<std::int64_t> rewind_to; ///< appending: drop the steps with a larger index
  bool sync = false;                     ///< end_step returns when the step is on the disk
  bool background = false;               ///< `buffers`: a thread in the background calls the engine
  Striping striping;                     ///< for the function that creates the file or directory
  Trace *trace = nullptr;                ///< never null; outlives the engine
  Notes *notes = nullptr;                ///< never null; rank 0 has all of them; outlives the engine
  ReplacedSeries *replaced = nullptr;    ///< mode write: sets aside what is there; on rank 0; outlives the engine
};

/// The contents of a step besides its grid variables. Only those of rank 0 are stored.
struct StepMetadata {
  Scalars scalars;
  std::optional<StepBlocks> blocks; ///< with their checksums, and without their places; nothing if checksums are off
  /// The checksums as JSON; empty if they are off.
  std::string checksums() const { return blocks ? checksums_to_json(*blocks) : ""; }
};

/// A format or a stream of a series. A Series checks names, shapes and order before it calls an engine, and calls it on
/// all ranks in the same order. An opened engine is also a StepSink or a StepSource or both: a series that is open to
/// write or append needs a sink, a series that is open to read needs a source.
class Engine {
public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  /// When reading: all steps; when appending: the steps that were kept. Local, like the next five functions.
  virtual std::vector<StepInfo> steps() const = 0;
  virtual std::optional<GridDescription> grid() const = 0;
  virtual Attributes attributes() const = 0;
  /// Damage besides the data of steps, one line each; steps whose records are damaged are not in steps().
  virtual std::vector<std::string> damage() const { return {}; }
  /// The paths of the files of the series, or of a directory that has no other files. If there are many, they are read
  /// from the files. Streams have none.
  virtual std::vector<std::string> files() const { return {}; }
  /// Streams: the cost of the coupling for both programs.
  virtual Coupling coupling() const { return {}; }
  /// Collective; throws the same error on all ranks.
  virtual void close() = 0;
};

/// An engine that writes steps. Its functions are collective: they succeed on all ranks or throw the same error on all
/// ranks, and never wait for a rank that failed. With asynchronous writing, one thread of its own calls them one after
/// another, and they may use only the communicator of the OpenRequest.
class StepSink : public virtual Engine {
public:
  /// Whether to write this step. Called before begin_step, which is not called for a step that is left out. Files take
  /// all steps.
  virtual bool takes_step(const StepInfo & /*step*/) { return true; }
  virtual void begin_step(const StepInfo &step) = 0;
  /// When `write` returns, the caller may change `block.data`.
  virtual void write(const Block &block) = 0;
  /// Makes the step visible to readers; before, they cannot see it.
  virtual void end_step(const StepMetadata &metadata) = 0;
  /// Drops the open step after an error, so that the series is as it was before the step. Does not throw.
  virtual void abandon_step() noexcept = 0;
  /// Sets all attributes of the series, including earlier ones; stored with the next step, or by close.
  virtual void set_attributes(const Attributes &attributes) = 0;
  /// Whether the library of the format keeps a copy of the written data until the step ends. Local.
  virtual bool copies() const { return false; }
  /// Streams: the steps left out so far, on rank 0. Local.
  virtual std::vector<LeftOut> left_out() const { return {}; }
};

/// An engine that reads steps. All functions are local. `step` is a position in steps().
class StepSource : public virtual Engine {
public:
  virtual std::vector<VariableInfo> variables(std::size_t step) const = 0;
  virtual Scalars scalars(std::size_t step) const = 0;
  /// JSON: name -> [[z, y, x, nz, ny, nx, sum], ...]; empty if there are none.
  virtual std::string checksums(std::size_t step) const = 0;
  /// Whether the blocks of a step are described in a table of numbers, see BlockList.
  virtual bool has_table(std::size_t /*step*/) const { return false; }
  /// Fills `data` with `box` (not empty, inside the shape) of a variable of `step`, in the variable's stored type.
  virtual void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const = 0;
};

/// Reads steps one by one while another program writes them. Files have all their steps from the beginning.
class StreamSource : public StepSource {
public:
  /// Waits for the next step, adds it to steps() and makes it the only one that can be read. False: no more steps will
  /// come. Throws IoError after `timeout` seconds; if negative, the engine's parameter `timeout` applies. Collective.
  virtual bool next_step(double timeout) = 0;
  /// The indices of the steps that the writer left out before this step. Local.
  virtual std::vector<std::int64_t> missed(std::size_t step) const = 0;
};

} // namespace tailrace::io
