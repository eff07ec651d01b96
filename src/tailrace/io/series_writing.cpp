#include <tailrace/io/data/block.hpp>
#include <tailrace/io/series_implementation.hpp>
#include <tailrace/io/trace_report.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <functional>

namespace tailrace::io {

void Series::Implementation::require_writing() const {
  if (closed_ || mode_ == Mode::read)
    throw InputError(fmt::format("{} is {}", path_, closed_ ? "closed" : "open for reading, not for writing"));
}

void Series::Implementation::require_step() const {
  require_writing();
  if (!open_step_)
    throw InputError(fmt::format("{}: no step is open; call begin_step first", path_));
}

void Series::Implementation::require_new(const std::string &name) const {
  check_name(name);
  if (written_.count(name) || scalars_.count(name) || name == "time" || name == "step")
    throw InputError(fmt::format("{}: '{}' is already written in this step", path_, name));
}

void Series::Implementation::forget_lost() {
  const std::size_t lost = std::min(steps_.size(), async_->take_lost());
  steps_.resize(steps_.size() - lost);
  if (lost > 0)
    last_index_ = steps_.empty() ? std::nullopt : std::optional(steps_.back().index);
  counters_.steps -= static_cast<std::int64_t>(lost);
}

template <class Work> void Series::Implementation::in_step(Work work) {
  try {
    if (!async_)
      Background::wait_until_idle();
    work();
  } catch (...) {
    if (async_) {
      async_->abandon_step();
      forget_lost();
    } else {
      writer_->abandon_step();
    }
    open_step_.reset();
    throw;
  }
}

Block Series::Implementation::check_own(const std::string &name, Type type, const void *data, const Placement &place,
                                        bool list) const {
  require_step();
  require_new(name);
  check_placement(name, place, data, list);
  const auto known = declared_.find(name);
  if (known == declared_.end())
    return {name, is_integer(type) ? type : precision_.value_or(type), place, data, list, nullptr};
  const VariableInfo &before = known->second;
  if (before.list != list || before.shape[0] != place.shape[0] || (!list && before.shape != place.shape))
    throw InputError(fmt::format("{}: shape of '{}' was {} before and is now {}", path_, name, describe(before.shape),
                                 describe(place.shape)));
  if (!convertible(type, before.type))
    throw InputError(fmt::format("{}: '{}' is stored as {}, which cannot hold {}", path_, name, name_of(before.type),
                                 name_of(type)));
  return {name, before.type, place, data, list, nullptr};
}

Block Series::Implementation::check_write(const std::string &name, Type type, const void *data, const Placement &place,
                                          bool list) {
  Block block;
  std::exception_ptr fault;
  try {
    block = check_own(name, type, data, place, list);
  } catch (...) {
    fault = std::current_exception();
  }
  // Ranks that disagree on what they are writing would each wait for the other, or mix two variables into one. One
  // reduction tells: numbers are all equal when the sum of their squares, times their count, is the square of their
  // sum.
  const std::string ours = fmt::format("{} ({}, {})", name, name_of(type), describe(place.shape));
  const auto mark = static_cast<std::int64_t>(std::hash<std::string>{}(ours) & 0xfffff);
  std::array<std::int64_t, 4> sums{mark, mark * mark, place.block.size(), fault != nullptr};
  comm_.sum(sums);
  const auto [marks, squares, covered, faults] = sums;
  if (static_cast<__int128>(squares) * comm_.size() != static_cast<__int128>(marks) * marks) {
    const std::string theirs = comm_.broadcast(ours, 0);
    comm_.agree([&] {
      if (ours != theirs)
        throw InputError(
            fmt::format("{}: rank 0 writes {} and this rank {}; all ranks write the same variables in the same order",
                        path_, theirs, ours));
    });
  }
  if (faults > 0)
    comm_.agree([&] {
      if (fault)
        std::rethrow_exception(fault);
    });
  if (covered != product(place.shape))
    throw InputError(fmt::format("{}: the blocks of '{}' hold {} points together, but its shape {} has {}", path_, name,
                                 covered, describe(place.shape), product(place.shape)));
  return block;
}

void Series::Implementation::put(const Block &block, Type given) {
  in_step([&] { async_ ? async_->write(block, given) : writer_->write(block, given); });
  counters_.bytes_written += block.place.block.size() * static_cast<std::int64_t>(size_of(block.type));
}

void Series::Implementation::write(const std::string &name, Type type, const void *data, const Placement &place,
                                   Put when, bool list) {
  const Block block = check_write(name, type, data, place, list);
  if (!taken_) {
    // nobody gets it
  } else if (when == Put::sync) {
    put(block, type);
  } else {
    deferred_.push_back({block, type, {}});
    if (with_checksums_) {
      const Span span(trace_, Phase::checksum);
      RunningChecksum sum;
      add_block(sum, place, size_of(type), data);
      deferred_.back().sum = sum.text();
    }
  }
  declared_[name] = {name, block.type, place.shape, list};
  written_.insert(name);
}

void Series::Implementation::check_deferred() const {
  const Span span(trace_, Phase::checksum);
  for (const auto &[block, given, before] : deferred_) {
    if (before.empty())
      continue;
    RunningChecksum sum;
    add_block(sum, block.place, size_of(given), block.data);
    if (sum.text() != before)
      throw InputError(fmt::format("{}: the array of '{}' was changed between its deferred write and end_step, so "
                                   "step {} is dropped. To fix this, write it without deferring, or leave it alone",
                                   path_, block.name, open_step_->index));
  }
}

void Series::Implementation::write_deferred() {
  if (async_) {
    try {
      check_deferred();
    } catch (...) {
      async_->spoil_step(std::current_exception());
    }
  } else {
    in_step([&] { comm_.agree([&] { check_deferred(); }); });
  }
  for (const auto &[block, given, before] : deferred_)
    put(block, given);
  deferred_.clear();
}

void Series::Implementation::end_step() {
  if (async_)
    require_step(); // every rank knows by itself: steps begin and end on all of them alike
  else
    comm_.agree([&] { require_step(); });
  if (!taken_) {
    open_step_.reset();
    return;
  }
  if (!deferred_.empty())
    write_deferred();
  std::optional<Attributes> changed;
  if (attributes_changed_)
    changed = attributes_;
  in_step([&] { async_ ? async_->end_step(scalars_, changed) : writer_->end_step(scalars_, changed); });
  attributes_changed_ = false;
  steps_.push_back(*open_step_);
  last_index_ = open_step_->index;
  open_step_.reset();
  ++counters_.steps;
}

/// Everything is closed whatever the background or the engine has to tell; the first error is thrown last. All of them
/// are the same on all ranks.
void Series::Implementation::close() {
  if (closed_)
    return;
  closed_ = true;
  if (open_step_ && taken_)
    async_ ? async_->abandon_step() : writer_->abandon_step();
  open_step_.reset();
  std::exception_ptr fault;
  const auto attempt = [&](const auto &work) {
    try {
      work();
    } catch (...) {
      if (!fault)
        fault = std::current_exception();
    }
  };
  if (async_) {
    attempt([&] { async_->check(true); });
    forget_lost();
  }
  Background::wait_until_idle();
  {
    const Span span(trace_, Phase::metadata);
    attempt([&] {
      if (attributes_changed_)
        engine_->set_attributes(attributes_);
      engine_->close();
    });
  }
  if (!trace_file_.empty())
    attempt([&] { write_chrome_trace(trace_file_, path_, trace_, comm_); });
  if (!folded_file_.empty())
    attempt([&] { write_folded_stacks(folded_file_, trace_, comm_); });
  if (fault)
    std::rethrow_exception(fault);
}

void Series::declare(const std::string &name, const Index3 &shape, Type stored) {
  self_->comm_.agree([&] {
    self_->require_writing();
    check_name(name);
    check_placement(name, {shape, {}, {}}, nullptr);
    if (self_->declared_.count(name))
      throw InputError(fmt::format("{}: '{}' is already declared or written", path(), name));
  });
  self_->declared_[name] = {name, stored, shape};
}

bool Series::begin_step(std::int64_t index, double time) {
  auto &self = *self_;
  self.comm_.agree([&] { // first of all, as in every function: a rank that cannot even call it tells the others here
    self.require_writing();
    if (self.open_step_)
      throw InputError(fmt::format("{}: step {} is still open; call end_step first", path(), self.open_step_->index));
  });
  StepInfo first{index, time};
  check_mpi(MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, self.comm_.get()), "MPI_Bcast");
  time = first.time;
  self.comm_.agree([&] {
    if (first.index != index)
      throw InputError(fmt::format("{}: rank 0 begins step {} and this rank step {}", path(), first.index, index));
    if (self.last_index_ && index <= *self.last_index_)
      throw InputError(
          fmt::format("{}: step {} cannot follow step {}. To overwrite later steps, open the series to append "
                      "with rewind_to",
                      path(), index, *self.last_index_));
    if (!std::isfinite(time))
      throw InputError(fmt::format("{}: the time of step {} is {}", path(), index, time));
  });
  self.written_.clear();
  self.scalars_.clear();
  self.deferred_.clear();
  self.open_step_ = StepInfo{index, time};
  self.taken_ = true;
  self.in_step([&] {
    if (self.async_)
      self.async_->begin_step(*self.open_step_);
    else
      self.taken_ = self.writer_->begin_step(*self.open_step_);
  });
  if (!self.taken_)
    self.last_index_ = index;
  return self.taken_;
}

bool Series::step_taken() const { return self_->taken_; }

std::optional<std::int64_t> Series::last_index() const { return self_->last_index_; }

void Series::write(const std::string &name, Type type, const void *data, const Placement &place, Put put) {
  self_->write(name, type, data, place, put, false);
}

void Series::write_region(const std::string &name, Type type, const void *data, const Placement &place,
                          const Region &region) {
  Placement part;
  std::vector<char> packed;
  self_->comm_.agree([&] {
    self_->require_step();
    check_name(name);
    check_placement(name, place, data);
    const Span span(self_->trace_, Phase::convert);
    part = place_in_region(name, place, region, size_of(type), data, packed);
  });
  self_->write(name, type, data, part, Put::sync, false);
}

void Series::write_list(const std::string &name, Type type, const void *data, std::int64_t rows, std::int64_t columns) {
  self_->comm_.agree([&] {
    self_->require_step();
    if (rows < 0 || columns < 1)
      throw InputError(fmt::format("{}: no list has {} rows of {} columns", name, rows, columns));
  });
  const std::int64_t before = self_->comm_.exclusive_scan(rows), all = self_->comm_.sum(rows);
  const Box block{{0, before, 0}, {columns, rows, 1}};
  self_->write(name, type, data, {{columns, all, 1}, block, block}, Put::sync, true);
}

void Series::write_scalar(const std::string &name, const Scalar &value) {
  self_->comm_.agree([&] {
    self_->require_step();
    self_->require_new(name);
  });
  self_->scalars_[name] = value;
}

void Series::attribute(const std::string &name, const Attribute &value) {
  self_->comm_.agree([&] {
    self_->require_writing();
    check_attribute_name(name);
  });
  self_->attributes_[name] = value;
  self_->attributes_changed_ = true;
}

void Series::end_step() { self_->end_step(); }

void Series::flush() {
  self_->comm_.agree([&] { self_->require_writing(); });
  if (self_->async_)
    self_->in_step([&] { self_->async_->check(true); });
}

void Series::close() { self_->close(); }

} // namespace tailrace::io
