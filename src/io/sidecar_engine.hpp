#pragma once

#include <tailrace/io/engine.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

/// An engine that keeps a series in a directory: files of values, and a JSON sidecar, series.json, that says what they
/// hold. The sidecar is the truth: it is replaced in one piece at the end of every step, after that step's files are
/// complete. A run cut anywhere leaves at most files that the sidecar does not list.
class SidecarEngine : public Engine {
public:
  std::vector<StepInfo> steps() const override;
  void begin_step(const StepInfo &step) override;
  void end_step(const StepTail &tail) override;
  void abandon_step() noexcept override;
  void set_attributes(const Attributes &attributes) override;
  void close() override;

  std::optional<GridDescription> grid() const override;
  Attributes attributes() const override;
  std::vector<VariableInfo> variables(std::size_t step) const override;
  Scalars scalars(std::size_t step) const override;
  std::string checksums(std::size_t step) const override;

protected:
  /// `name` is the engine's and `layout` tells people how to read the files.
  SidecarEngine(const Target &target, std::string name, std::string layout);
  /// Reads the sidecar, or makes a new one. To be called by the constructor of an engine. Collective.
  void open();

  std::string file(const std::string &name) const;
  /// How the sidecar describes a variable of a step.
  const nlohmann::json &stored(std::size_t step, const std::string &variable) const;
  /// Adds a variable to the open step; the engine may add what it needs.
  nlohmann::json &add_variable(const Block &block);

  /// Names of the files that go when a step goes.
  virtual std::vector<std::string> files(const nlohmann::json &step) const = 0;
  /// Throws a JSON exception when a step of a sidecar lacks what the engine needs.
  virtual void check(const nlohmann::json &step) const = 0;
  /// Called on rank 0 before a list of steps is saved: what else is made of it.
  virtual void publish(const nlohmann::json &) const {}

  Target target_;
  nlohmann::json sidecar_; ///< the same on all ranks
  nlohmann::json step_;    ///< the open one

private:
  void load();
  void create();
  void rewind(std::int64_t last_index);
  void remove_files(const nlohmann::json &step) const;
  void save(const nlohmann::json &sidecar) const;

  std::string name_, layout_;
  bool unsaved_ = false;
};

} // namespace tailrace::io
