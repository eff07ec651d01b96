// The writer in the background over an engine that waits and fails when the test wants.

#include "io/thrown.hpp"
#include "support.hpp"
#include <tailrace/io/writing/async_writer.hpp>
#include <tailrace/io/writing/step_writer.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;

namespace {

/// Keeps what it is asked for. Its `write` waits while the test holds it, and then does what `in_write` does.
class HeldSink final : public StepSink {
public:
  std::vector<StepInfo> steps() const override { return {}; }
  std::optional<GridDescription> grid() const override { return {}; }
  Attributes attributes() const override { return {}; }
  void close() override {}
  void begin_step(const StepInfo &step) override { open_ = step.index; }
  void write(const Block &) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held_; });
    if (in_write)
      in_write(open_);
  }
  void end_step(const StepMetadata &) override { done.push_back(open_); }
  void abandon_step() noexcept override { abandoned.push_back(open_); }
  void set_attributes(const Attributes &) override {}

  void hold(bool held) {
    {
      const std::lock_guard lock(mutex_);
      held_ = held;
    }
    changed_.notify_all();
  }

  std::function<void(std::int64_t step)> in_write;
  std::vector<std::int64_t> done, abandoned; ///< indices; look only after AsyncWriter::check

private:
  std::int64_t open_ = 0;
  bool held_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class AsyncWriterTest : public testing::Test {
protected:
  void make(std::size_t buffers) {
    out = std::make_unique<AsyncWriter>(steps, comm, engine_comm, trace, "run", buffers, false);
  }
  void begin(std::int64_t index) { out->begin_step({index, 0.5}); }
  void write() {
    const Box block{{0, 0, comm.rank()}, {1, 1, 1}};
    out->write({"ux", Type::float64, {{1, 1, comm.size()}, block, block}, &value}, Type::float64);
  }
  void write_step(std::int64_t index) {
    begin(index);
    write();
    out->end_step({}, {});
  }
  double value = 1;
  Communicator comm{MPI_COMM_WORLD}, engine_comm{MPI_COMM_WORLD};
  Trace trace;
  HeldSink sink;
  StepWriter steps{sink, engine_comm, trace, false};
  std::unique_ptr<AsyncWriter> out;
};

using Indices = std::vector<std::int64_t>;

TEST_F(AsyncWriterTest, AThirdStepWaitsForOneOfTwoBuffers) {
  make(2);
  sink.hold(true);
  write_step(1); // these are only copied
  write_step(2);
  auto third = std::async(std::launch::async, [&] { write_step(3); });
  EXPECT_EQ(third.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  sink.hold(false);
  third.get();
  out->check(true);
  EXPECT_EQ(sink.done, (Indices{1, 2, 3}));
}

TEST_F(AsyncWriterTest, TheTypeOfAnErrorIsKept) {
  make(2);
  sink.in_write = [](std::int64_t step) { step == 1 ? throw InputError("wrong") : throw IoError("broken"); };
  write_step(1);
  const std::string wrong = error_of<InputError>([&] { out->check(true); });
  EXPECT_TRUE(wrong.starts_with("run: step 1 could not be written in the background: wrong")) << wrong;
  write_step(2);
  const std::string broken = error_of<IoError>([&] { out->check(true); });
  EXPECT_TRUE(broken.starts_with("run: step 2 could not be written in the background: broken")) << broken;
  EXPECT_EQ(out->take_lost(), 1U);
  out->check(true); // an error is told once
  EXPECT_EQ(sink.abandoned, (Indices{1, 2}));
}

TEST_F(AsyncWriterTest, AnOpenStepIsLostWithThoseBeforeIt) {
  make(4);
  sink.in_write = [](std::int64_t step) {
    if (step == 2)
      throw IoError("broken");
  };
  write_step(1);
  sink.hold(true);
  write_step(2);
  write_step(3);
  begin(4); // before the error
  write();
  sink.hold(false);
  const std::string text = error_of<IoError>([&] { out->check(true); });
  EXPECT_TRUE(text.starts_with("run: step 2 could not be written in the background, and 2 later steps are lost with "
                               "it: broken"))
      << text;
  EXPECT_EQ(out->take_lost(), 2U) << "of those that had ended";
  EXPECT_EQ(sink.done, Indices{1});
  sink.in_write = nullptr;
  for (std::int64_t index = 5; index < 9; ++index) // its buffer is free again
    write_step(index);
  out->check(true);
  EXPECT_EQ(sink.done, (Indices{1, 5, 6, 7, 8}));
}

/// Without buffers the engine has the step open from begin_step on.
TEST_F(AsyncWriterTest, AStepThatTheEngineHasOpenIsAbandonedThere) {
  make(0);
  begin(1);
  write();
  out->abandon_step();
  EXPECT_EQ(sink.abandoned, Indices{1});
  begin(2);
  write();
  if (comm.rank() == comm.size() - 1)
    out->spoil_step(std::make_exception_ptr(InputError("changed")));
  out->end_step({}, {});
  EXPECT_NE(error_of<InputError>([&] { out->check(true); }).find("step 2 could not be written"), std::string::npos);
  EXPECT_EQ(sink.abandoned, (Indices{1, 2}));
  write_step(3);
  out->check(true);
  EXPECT_EQ(sink.done, Indices{3});
}

} // namespace
