#pragma once

#include <tailrace/io/engine/background_thread.hpp>
#include <tailrace/io/writing/step_writer.hpp>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tailrace::io {

/// A StepWriter that runs in the background. A step is copied into one of a bounded number of buffers, and the caller
/// continues; when all buffers are in use, begin_step waits for one. When the background fails, its step and all steps
/// after it are dropped, and the caller's next begin_step or check throws on all ranks. write and end_step are local:
/// they wait for no other rank. If one rank fails in them, this becomes an error of the background, where the ranks
/// agree on it before the engine gets the step.
///
/// Without buffers, for an engine that copies what it is given, that copy is the only one: begin_step waits for the
/// previous step, write gives the block to the engine, both are collective, and only end_step runs in the background.
class AsyncWriter final : public StepTarget {
public:
  /// `comm` is for the caller's thread, `engine_comm`, of the same ranks, for the background. `library`: see
  /// EngineTurn.
  AsyncWriter(StepWriter &writer, const Communicator &comm, const Communicator &engine_comm, Trace &trace,
              std::string path, std::size_t buffers, bool library);
  ~AsyncWriter() override; ///< waits for all steps to be written

  bool is_background() const override { return true; }
  /// Always true: whether the engine takes the step is decided later.
  bool begin_step(const StepInfo &step) override;
  void write(Block block, Type given) override;
  void spoil_step(std::exception_ptr reason) override;
  void end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) override;
  void abandon_step() noexcept override;
  void check(bool all) override;
  std::size_t take_lost() override { return std::exchange(lost_, 0); }

private:
  struct Piece {
    Block block;
    std::unique_ptr<char[]> bytes;
    std::size_t capacity = 0;
  };
  struct Step {
    StepInfo info;
    std::vector<Piece> pieces; ///< those after `used` keep the memory of earlier steps
    std::size_t used = 0;
    Scalars scalars;
    std::optional<Attributes> attributes;
    std::exception_ptr spoilt; ///< why this rank cannot write the step
  };
  struct Failure {
    std::int64_t step = 0;
    std::string text;
    bool input = false; ///< an InputError, otherwise an IoError
  };
  Piece &next_piece(std::size_t bytes);
  void wait_all(std::unique_lock<std::mutex> &lock);
  void run(Step &step);

  StepWriter &writer_;
  Communicator comm_, engine_comm_;
  Trace &trace_;
  std::string path_;
  const bool direct_; ///< no buffers: blocks go to the engine at once
  const bool library_;
  std::vector<std::unique_ptr<Step>> free_; ///< protected by mutex_, like the next three
  std::size_t on_their_way_ = 0, dropped_ = 0;
  std::optional<Failure> error_;
  std::unique_ptr<Step> open_;
  std::size_t lost_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<BackgroundThread> background_; // last: its thread uses the others
};

} // namespace tailrace::io
