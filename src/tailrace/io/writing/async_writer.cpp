#include <tailrace/io/writing/async_writer.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/engine_turn.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tailrace::io {

AsyncWriter::AsyncWriter(StepWriter &writer, const Communicator &comm, const Communicator &engine_comm, Trace &trace,
                         std::string path, std::size_t buffers, bool library)
    : writer_(writer), comm_(comm), engine_comm_(engine_comm), trace_(trace), path_(std::move(path)),
      direct_(buffers == 0), library_(library), background_(BackgroundThread::get()) {
  for (std::size_t buffer = 0; buffer < std::max<std::size_t>(buffers, 1); ++buffer)
    free_.push_back(std::make_unique<Step>());
}

AsyncWriter::~AsyncWriter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return on_their_way_ == 0; });
}

void AsyncWriter::wait_all(std::unique_lock<std::mutex> &lock) {
  const Span span(trace_, Phase::wait);
  changed_.wait(lock, [&] { return on_their_way_ == 0; });
}

bool AsyncWriter::begin_step(const StepInfo &step) {
  if (direct_) { // the engine, too, must have finished the previous step
    std::unique_lock lock(mutex_);
    wait_all(lock);
  }
  check(false);
  {
    const Span span(trace_, Phase::wait);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !free_.empty(); });
    open_ = std::move(free_.back());
    free_.pop_back();
  }
  open_->info = step;
  open_->used = 0;
  open_->spoilt = nullptr;
  if (direct_) {
    const EngineTurn turn(library_);
    writer_.begin_step(step);
  }
  return true;
}

AsyncWriter::Piece &AsyncWriter::next_piece(std::size_t bytes) {
  if (open_->used == open_->pieces.size())
    open_->pieces.emplace_back();
  Piece &piece = open_->pieces[open_->used];
  if (piece.capacity < bytes) {
    piece.bytes.reset(); // first, so that the old and the new memory never exist together
    piece.capacity = 0;
    piece.bytes = std::make_unique_for_overwrite<char[]>(bytes);
    piece.capacity = bytes;
  }
  ++open_->used;
  return piece;
}

void AsyncWriter::write(Block block, Type given) {
  if (direct_) {
    const EngineTurn turn(library_);
    return writer_.write(block, given);
  }
  const std::int64_t bytes = block.place.block.size() * static_cast<std::int64_t>(size_of(block.type));
  const Span span(trace_, Phase::copy, bytes);
  try {
    Piece &piece = next_piece(static_cast<std::size_t>(bytes));
    piece.block = block;
    piece.block.data = piece.bytes.get();
    piece.block.place.memory = block.place.block;
    convert_block(block.place, given, block.type, block.data, piece.bytes.get());
  } catch (const std::bad_alloc &) {
    spoil_step(std::make_exception_ptr(
        IoError(fmt::format("there is no memory for a copy of '{}', {} bytes. To fix this, use fewer buffers, or none",
                            block.name, bytes))));
  } catch (...) {
    spoil_step(std::current_exception());
  }
}

void AsyncWriter::spoil_step(std::exception_ptr reason) {
  if (!open_->spoilt)
    open_->spoilt = std::move(reason);
}

void AsyncWriter::end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) {
  open_->scalars = scalars;
  open_->attributes = attributes;
  if (direct_)
    Trace::set_step(-1); // from here on the step belongs to the background
  {
    const std::lock_guard lock(mutex_);
    ++on_their_way_;
  }
  background_->submit([this, step = std::make_shared<std::unique_ptr<Step>>(std::move(open_))]() mutable {
    run(**step);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(*step));
    --on_their_way_;
    changed_.notify_all();
  });
}

/// Runs in the background.
void AsyncWriter::run(Step &step) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) {
      ++dropped_;
      return;
    }
  }
  const EngineTurn turn(library_);
  try {
    engine_comm_.agree([&] {
      if (step.spoilt)
        std::rethrow_exception(step.spoilt);
    });
    if (direct_)
      Trace::set_step(step.info.index);
    else if (!writer_.begin_step(step.info))
      return;
    for (std::size_t piece = 0; piece < step.used; ++piece)
      writer_.write(step.pieces[piece].block, step.pieces[piece].block.type);
    writer_.end_step(step.scalars, step.attributes);
  } catch (const std::exception &error) {
    if (direct_)
      writer_.abandon_step(); // the engine has it open
    const std::lock_guard lock(mutex_);
    ++dropped_;
    const bool input = dynamic_cast<const InputError *>(&error) != nullptr;
    error_ = Failure{step.info.index, error.what(), input};
  }
}

void AsyncWriter::abandon_step() noexcept {
  if (direct_ && open_) {
    const EngineTurn turn(library_);
    writer_.abandon_step();
  }
  const std::lock_guard lock(mutex_);
  if (open_)
    free_.push_back(std::move(open_));
}

void AsyncWriter::check(bool all) {
  std::unique_lock lock(mutex_);
  bool failed = error_.has_value();
  if (!all) { // the backgrounds of the ranks may be at different steps, but all will reach the error
    lock.unlock();
    failed = comm_.max(std::int64_t{failed}) > 0;
    lock.lock();
  }
  if (!all && !failed)
    return;
  wait_all(lock);
  const std::optional<Failure> error = std::exchange(error_, std::nullopt);
  lost_ = std::exchange(dropped_, 0);
  const std::size_t behind = lost_ + (open_ ? 1 : 0); // the open step is lost too: the steps before it are missing
  lock.unlock();
  if (error)
    abandon_step();
  comm_.agree([&] {
    if (!error)
      return;
    const std::string behind_it =
        behind > 1 ? fmt::format(", and {} later step{} lost with it", behind - 1, behind > 2 ? "s are" : " is") : "";
    const std::string text = fmt::format("{}: step {} could not be written in the background{}: {}", path_, error->step,
                                         behind_it, error->text);
    if (error->input)
      throw InputError(text);
    throw IoError(text);
  });
}

} // namespace tailrace::io
