#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/storage/json_log.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// An engine that keeps a series in a directory: files with values, and a sidecar, series.jsonl, that describes them.
/// The sidecar has one line for the series, and then one for every step and every change of attributes, each with a
/// checksum. Only steps in the sidecar exist: a step's line is added when its files are complete, so a killed run
/// leaves at most files that the sidecar does not list. Rank 0 reads and writes the sidecar; other ranks read the line
/// of a step when they need it.
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
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;

protected:
  /// `name` is the name of the engine; `layout` explains to people how to read the files.
  SidecarEngine(const OpenRequest &request, std::string name, std::string layout);
  /// Reads the sidecar or creates a new one. The constructor of an engine calls this. Collective.
  void open();

  std::string file(const std::string &name) const;
  /// The line of a step. Local; the reference is valid until the next call of `line` or `stored`.
  const nlohmann::json &line(std::size_t step) const;
  /// How the sidecar describes a variable of a step. Local; the reference is valid as long as that of `line`.
  const nlohmann::json &stored(std::size_t step, const std::string &variable) const;
  /// Adds a variable to the open step; the engine may add its own entries.
  nlohmann::json &add_variable(const Block &block);

  /// Names of the files to remove when a step is removed.
  virtual std::vector<std::string> files(const nlohmann::json &step) const = 0;
  /// Throws a JSON exception if a step of a sidecar lacks an entry that the engine needs.
  virtual void check(const nlohmann::json &step) const = 0;
  /// Called on rank 0 before the open step is listed.
  virtual void publish_step() {}
  /// Called on rank 0 when the list of steps changes in another way than by one new step: after opening to append,
  /// after a rewind, or when the open step is dropped after publish_step.
  virtual void publish_all() {}

  OpenRequest request_;
  nlohmann::json step_; ///< the open step; only the entries of rank 0 are stored

private:
  struct Entry {
    StepInfo info;
    std::int64_t offset = 0, length = 0; ///< of the step's line
  };
  void load();
  void create();
  void add_entry(const StepLog::Line &line);
  void rewind(std::int64_t last_index);
  void remove_files(const nlohmann::json &step) const;
  void share();

  std::string name_, layout_;
  StepLog log_;
  nlohmann::json header_, attributes_ = nlohmann::json::object();
  std::vector<Entry> entries_; ///< the same on all ranks
  std::vector<std::string> damage_;
  bool unsaved_ = false;
  mutable std::size_t cached_ = static_cast<std::size_t>(-1); ///< the step of cached_line_
  mutable nlohmann::json cached_line_;
};

} // namespace tailrace::io
