#pragma once

#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/engine/block_list.hpp>
#include <tailrace/io/engine/engine_entry.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/sidecar/block_table.hpp>
#include <tailrace/io/sidecar/xdmf_files.hpp>
#include <tailrace/io/storage/json_log.hpp>
#include <tailrace/io/storage/own_files.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The entry of an engine whose series have a sidecar, with the rest of its traits. Local.
EngineEntry sidecar_entry(EngineTraits traits, std::unique_ptr<Engine> (*open)(const OpenRequest &, Parameters));

/// An engine that keeps a series in a directory: files with values, and a sidecar, series.jsonl, that describes them.
/// The sidecar has one line for the series, and then one for every step and every change of attributes, each with a
/// checksum. Only steps in the sidecar exist: a step's line is added when its files are complete, so a killed run
/// leaves at most files that the sidecar does not list. Rank 0 reads and writes the sidecar; other ranks read the line
/// of a step when they need it. Where many ranks write, the blocks of a step are in a table of its own.
class SidecarEngine : public StepSink, public StepSource {
public:
  std::vector<StepInfo> steps() const override;
  void begin_step(const StepInfo &step) override;
  void end_step(const StepMetadata &metadata) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::optional<GridDescription> grid() const override;
  Attributes attributes() const override;
  std::vector<std::string> damage() const override { return damage_; }
  std::vector<std::string> files() const override;
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;
  bool has_table(std::size_t step) const override { return line(step).contains("table"); }
  /// Reads with read_stored. If another program has replaced the list of steps meanwhile, because it rewinds the series
  /// or begins it again, the data may be of another step or incomplete: then the list is read again. The same line in
  /// it stands for the same data.
  void read(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const override;

protected:
  /// `name` is the name of the engine; `layout` explains to people how to read the files.
  SidecarEngine(const OpenRequest &request, std::string name, std::string layout);
  /// Takes the parameter of all engines with a sidecar. The constructor of an engine calls this before `open`. Local.
  void take(Parameters &parameters);
  /// Reads the sidecar or creates a new one. The constructor of an engine calls this. Collective.
  void open();

  /// The path of a file of the series. Throws IoError for anything but a plain name: a sidecar must not name files
  /// elsewhere.
  std::string file(const std::string &name) const;
  /// As StepSource::read.
  virtual void read_stored(std::size_t step, const VariableInfo &variable, const Box &box, void *data) const = 0;
  /// The line of a step. Local; the reference is valid until the next call of `line` or `stored`.
  const nlohmann::json &line(std::size_t step) const;
  /// How the sidecar describes a variable of a step. Local; the reference is valid as long as that of `line`.
  const nlohmann::json &stored(std::size_t step, const std::string &variable) const;
  /// Adds a variable to the open step; the engine may add its own entries.
  nlohmann::json &add_variable(const Block &block);
  /// Where this rank's block of the variable that was added last is stored. For engines with `by_blocks_`.
  void add_block(std::int64_t number, std::int64_t offset, const Box &box) {
    own_blocks_.push_back({step_["variables"].size() - 1, {number, offset, box, 0}});
  }
  /// The stored blocks of a variable that hold points of `box`. Local.
  std::vector<StoredBlock> blocks_of(std::size_t step, const VariableInfo &variable, const Box &box) const;
  /// Whether the blocks of a variable are in the table of its step; and those in it. Local.
  static bool in_table(const nlohmann::json &described) { return described.contains("table"); }
  BlockTable table(const nlohmann::json &step, const nlohmann::json &described) const;

  /// Creates a file of the open step, to write; abandoning the step removes it. Throws IoError for a file of another
  /// program. Local.
  FileDescriptor create_file(const std::string &path);
  /// To be called by the rank that made a file of the open step, when it is complete: end_step fails if it is gone
  /// then.
  void made(const std::string &path) { own_files_.note(path, OwnFiles::State::closed); }

  /// Closes the files that read_stored has left open: they may have been incomplete when it opened them.
  virtual void close_files() const {}
  /// Names of the files with the values of a step.
  virtual std::vector<std::string> files(const nlohmann::json &step) const = 0;
  /// Adds the stored blocks of a variable to its description in the line of a step.
  virtual void list_blocks(nlohmann::json &described, const BlockRows &rows) const;
  /// Throws a JSON exception or IoError if a variable of a step of a sidecar lacks an entry that the engine needs, or
  /// one cannot be.
  virtual void check(const nlohmann::json &described, const VariableInfo &variable) const = 0;
  /// Called on rank 0 before the open step is listed: adds it to the XDMF files.
  virtual void publish_step();

  OpenRequest request_;
  nlohmann::json step_;           ///< the open step; only the entries of rank 0 are stored
  bool by_blocks_ = false;        ///< the engine stores variables block by block
  std::optional<XdmfFiles> xdmf_; ///< of an engine whose files they can describe; used only on rank 0

private:
  static constexpr int version = 2, with_tables = 3; ///< of series.jsonl
  static constexpr const char *native_order = std::endian::native == std::endian::little ? "little" : "big";
  struct Entry {
    StepInfo info;
    std::int64_t offset = 0, length = 0; ///< of the step's line; length 0: it is not in the list any more
    std::uint64_t sum = 0;               ///< of the step's line; the same line stands for the same data
  };
  static Entry entry_of(const StepLog::Line &line);
  void load();
  void check_step(const nlohmann::json &step) const;
  std::vector<std::string> all_files(const nlohmann::json &step) const;
  void describe_blocks(const StepMetadata &metadata, std::vector<BlockRows> stored);
  bool find_again(std::size_t step) const;
  IoError changed(std::size_t step) const;
  IoError damaged(const nlohmann::json &step, const std::exception &error) const;
  void create();
  void set_aside(const std::vector<StepLog::Line> &earlier) const;
  void rewind(std::int64_t last_index);
  void remove_files(const nlohmann::json &step) const;
  void share();
  /// Called on rank 0 when the list of steps changes in another way than by one new step: after a rewind, when the open
  /// step is dropped after publish_step, or after opening to append where the drawing does not show the steps.
  void publish_all();
  bool goes_on_with_drawing();

  std::string name_, layout_;
  BlockList block_list_;
  mutable StepLog log_;
  nlohmann::json header_, attributes_ = nlohmann::json::object();
  mutable std::vector<Entry> entries_; ///< the same on all ranks, but for the places of lines after find_again
  std::vector<std::string> damage_;
  std::vector<VariableBlock> own_blocks_; ///< of the open step, by this rank
  OwnFiles own_files_;                    ///< of the open step, by this rank
  std::vector<std::string> created_;      ///< files of the open step, by this rank
  bool unsaved_ = false;
  bool closed_ = false; ///< whether the writer before this one has closed the series; on rank 0
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  mutable std::size_t cached_ = none; ///< the step of cached_line_
  mutable nlohmann::json cached_line_;
  mutable std::optional<BlockTable> table_; ///< of the cached step and this variable
  mutable std::string table_of_;
};

} // namespace tailrace::io
