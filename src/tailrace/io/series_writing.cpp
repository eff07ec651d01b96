#include <tailrace/io/components.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/engine/engine_turn.hpp>
#include <tailrace/io/series_implementation.hpp>
#include <tailrace/io/storable.hpp>
#include <tailrace/io/trace_report.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>

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
  check_storable_name(name, engine_traits(engine_name_));
  if (written_.count(name) || scalars_.count(name) || name == "time" || name == "step")
    throw InputError(fmt::format("{}: '{}' is already written in this step", path_, name));
}

void Series::Implementation::forget_lost() {
  const std::size_t lost = std::min(steps_.size(), target_->take_lost());
  steps_.resize(steps_.size() - lost);
  if (lost > 0)
    last_index_ = steps_.empty() ? std::nullopt : std::optional(steps_.back().index);
  attributes_changed_ = attributes_changed_ || (lost > 0 && !attributes_.empty()); // those steps may have had them
  counters_.steps -= static_cast<std::int64_t>(lost);
}

template <class Work> void Series::Implementation::in_step(Work work) {
  std::optional<EngineTurn> turn;
  if (!target_->is_background())
    turn.emplace(shares_library());
  try {
    work();
  } catch (...) {
    target_->abandon_step();
    forget_lost();
    forget_step();
    throw;
  }
}

/// After a step is dropped: nothing of it is known any more.
void Series::Implementation::forget_step() {
  if (!open_step_)
    return;
  open_step_.reset();
  deferred_.clear();
  declared_ = std::move(declared_before_);
}

void Series::Implementation::abandon_step() noexcept {
  if (open_step_ && taken_) {
    const EngineTurn turn(shares_library());
    target_->abandon_step();
  }
  forget_step();
}

/// The type in which a variable is stored. Throws InputError if it contradicts an earlier write or declaration.
Type Series::Implementation::stored_type(const std::string &name, Type type, const Index3 &shape, bool list) const {
  require_new(name);
  const auto known = declared_.find(name);
  if (known == declared_.end())
    return is_real(type) ? precision_.value_or(type) : type;
  const Implementation::Known &before = known->second;
  if (before.list != list || before.shape[0] != shape[0] || (!list && before.shape != shape))
    throw InputError(fmt::format("{}: shape of '{}' was {} before and is now {}{}", path_, name, describe(before.shape),
                                 describe(shape), list || before.list ? "" : ", in x, y, z"));
  if (!convertible(type, before.type))
    throw InputError(fmt::format("{}: '{}' is stored as {}, which cannot hold {}", path_, name, name_of(before.type),
                                 name_of(type)));
  const bool loses_digits = before.type == Type::float32 && type != before.type && size_of(type) >= 4;
  if (loses_digits && !before.given && !precision_)
    throw InputError(fmt::format(
        "{}: '{}' was float32 before and is now {}, whose digits would be lost. To fix this, give "
        "float32, or say before the first step that float32 is stored: by the precision of the series, or by declare",
        path_, name, name_of(type)));
  return before.type;
}

/// One component of the request, or all of it, as a block for the engine. The points of a region are copied to `packed`
/// if necessary. Throws InputError.
Block Series::Implementation::block_of(const WriteRequest &request, std::int64_t component,
                                       std::vector<char> &packed) const {
  const std::string name = request.components ? component_name(request.name, component) : request.name;
  Placement place = request.place;
  const void *data = request.data;
  check_placement(name, place, data, request.list);
  if (data != nullptr)
    data = static_cast<const char *>(data) +
           component * place.memory.size() * static_cast<std::int64_t>(size_of(request.type));
  if (request.region) {
    const Span span(trace_, Phase::convert);
    place = place_in_region(name, place, *request.region, size_of(request.type), data, packed);
  }
  const Type type = stored_type(name, request.type, place.shape, request.list);
  check_storable(name, type, engine_traits(engine_name_));
  return {name, type, place, data, request.list, nullptr};
}

/// Checks the whole request and returns its first block. Local.
Block Series::Implementation::check_write(const WriteRequest &request, std::vector<char> &packed) const {
  const Index3 &count = request.place.block.count;
  check_storable_name(request.name, engine_traits(engine_name_));
  if (request.list && (count[1] < 0 || count[0] < 1))
    throw InputError(fmt::format("{}: no list has {} rows of {} columns", request.name, count[1], count[0]));
  if (request.components.value_or(1) < 1)
    throw InputError(
        fmt::format("{}: '{}' has {} components; expected at least 1", path_, request.name, *request.components));
  Block block = block_of(request, 0, packed);
  for (std::int64_t c = 1; c < request.components.value_or(1); ++c)
    stored_type(component_name(request.name, c), request.type, block.place.shape, false);
  return block;
}

/// Places this rank's rows of a list after those of the lower ranks. Collective.
void Series::Implementation::place_rows(Block &block, std::int64_t rows) const {
  auto &[shape, part, memory] = block.place;
  part.start = memory.start = {0, comm_.exclusive_scan(part.count[1]), 0};
  shape[1] = rows;
}

void Series::Implementation::put(const Block &block, Type given) {
  in_step([&] { target_->write(block, given); });
  counters_.bytes_written += block.place.block.size() * static_cast<std::int64_t>(size_of(block.type));
}

void Series::Implementation::take(const Block &block, const WriteRequest &request) {
  if (!taken_) {
    // the step is not taken
  } else if (request.put == Put::sync || request.region) { // the points of a region may be packed for this call only
    put(block, request.type);
  } else {
    deferred_.push_back({block, request.type, {}});
    if (with_checksums_) {
      const Span span(trace_, Phase::checksum);
      RunningChecksum sum;
      add_block(sum, block.place, size_of(request.type), block.data);
      deferred_.back().sum = sum.text();
    }
  }
  static_cast<VariableInfo &>(declared_[block.name]) = {block.name, block.type, block.place.shape, block.list};
  written_.insert(block.name);
}

namespace {

/// The parts of a request that must be the same on all ranks.
std::string describe_request(const WriteRequest &request) {
  Index3 shape = request.region ? request.region->count : request.place.shape;
  if (request.list)
    shape[1] = 0; // each rank may have any number of rows
  return fmt::format("{} ({}, {}, components: {})", request.name, name_of(request.type), describe(shape),
                     request.components.value_or(0));
}

} // namespace

/// Throws if the ranks, which have compared their requests, want different things: they would wait for each other or
/// mix two variables.
void Series::Implementation::compare_requests(const std::string &ours, const Tally &all) const {
  if (all.same(1))
    return;
  const std::string theirs = comm_.broadcast(ours, 0);
  comm_.agree([&] {
    if (ours != theirs)
      throw InputError(
          fmt::format("{}: rank 0 writes {} and this rank {}; all ranks write the same variables in the same order",
                      path_, theirs, ours));
  });
}

/// Collective; the same error on all ranks.
Series::Implementation::Checked Series::Implementation::check_write(const std::function<WriteRequest()> &make) const {
  Checked checked;
  WriteRequest &request = checked.request;
  Block &block = checked.block;
  auto &packed = checked.packed;
  std::string ours;
  std::exception_ptr fault;
  const Tally all = enter([&](Tally &tally) {
    request = make();
    ours = describe_request(request);
    tally.compare(1, static_cast<std::int64_t>(std::hash<std::string>{}(ours)));
    try {
      block = check_write(request, packed);
      tally.sum[0] = block.place.block.size();
    } catch (...) {
      fault = std::current_exception();
      tally.largest[3] = 1;
    }
  });
  compare_requests(ours, all);
  if (all.largest[3] > 0)
    comm_.agree([&] {
      if (fault)
        std::rethrow_exception(fault);
    });
  if (block.list)
    place_rows(block, all.sum[0] / block.place.shape[0]);
  else if (all.sum[0] != product(block.place.shape))
    throw InputError(fmt::format("{}: the blocks of '{}' hold {} points together, but its shape {} has {}", path_,
                                 request.name, all.sum[0], describe(block.place.shape), product(block.place.shape)));
  return checked;
}

void Series::Implementation::take(Checked &checked) {
  auto &[request, block, packed] = checked;
  take(block, request);
  for (std::int64_t c = 1; c < request.components.value_or(1); ++c)
    take(block_of(request, c, packed), request);
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
  if (target_->is_background()) {
    try {
      check_deferred();
    } catch (...) {
      target_->spoil_step(std::current_exception());
    }
  } else {
    in_step([&] { comm_.agree([&] { check_deferred(); }); });
  }
  for (const auto &[block, given, before] : deferred_)
    put(block, given);
  deferred_.clear();
}

void Series::Implementation::end_step() {
  if (target_ && target_->is_background())
    require_step(); // no communication: steps begin and end on all ranks together
  else
    enter([&](Tally &) { require_step(); });
  if (!taken_) {
    open_step_.reset();
    return;
  }
  if (!deferred_.empty())
    write_deferred();
  std::optional<Attributes> changed;
  if (attributes_changed_)
    changed = attributes_;
  in_step([&] { target_->end_step(scalars_, changed); });
  attributes_changed_ = false;
  steps_.push_back(*open_step_);
  last_index_ = open_step_->index;
  open_step_.reset();
  ++counters_.steps;
}

/// Closes everything even after errors of the background or the engine, then throws the first error. All these errors
/// are the same on all ranks.
void Series::Implementation::close() {
  if (closed_)
    return;
  closed_ = true;
  abandon_step();
  std::exception_ptr fault;
  const auto attempt = [&](const auto &work) {
    try {
      work();
    } catch (...) {
      if (!fault)
        fault = std::current_exception();
    }
  };
  if (target_) {
    attempt([&] { target_->check(true); });
    forget_lost();
  }
  {
    const EngineTurn turn(shares_library());
    const Span span(trace_, Phase::metadata);
    attempt([&] {
      if (attributes_changed_)
        sink_->set_attributes(attributes_);
      engine_->close();
    });
  }
  attempt([&] { // a series that is closed without having begun a step replaces the earlier one too
    comm_.agree([&] {
      if (replaced_)
        any_begun_ &&steps_.empty() ? replaced_->put_back() : replaced_->remove();
    });
  });
  lock_.reset();
  if (!trace_file_.empty())
    attempt([&] { write_chrome_trace(trace_file_, path_, trace_, comm_); });
  if (!folded_file_.empty())
    attempt([&] { write_folded_stacks(folded_file_, trace_, comm_); });
  if (fault)
    std::rethrow_exception(fault);
}

namespace {

/// The number of rank 0, for a reduction that takes the maximum.
std::int64_t of_rank_0(const Communicator &comm, double value) {
  return comm.rank() == 0 ? std::bit_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min();
}

} // namespace

/// Collective; the same error on all ranks.
StepInfo Series::Implementation::check_begin(std::int64_t index, double time) const {
  const Tally all = enter([&](Tally &tally) {
    require_writing();
    if (open_step_)
      throw InputError(fmt::format("{}: step {} is still open; call end_step first", path_, open_step_->index));
    tally.compare(1, index);
    tally.largest[3] = of_rank_0(comm_, time);
  });
  if (!all.same(1)) {
    const std::int64_t first = comm_.max(comm_.rank() == 0 ? index : std::numeric_limits<std::int64_t>::min());
    comm_.agree([&] {
      if (first != index)
        throw InputError(fmt::format("{}: rank 0 begins step {} and this rank step {}", path_, first, index));
    });
  }
  // From here on all ranks have the same values: they all throw or all continue.
  time = std::bit_cast<double>(all.largest[3]);
  if (last_index_ && index <= *last_index_)
    throw InputError(fmt::format("{}: step {} cannot follow step {}. To overwrite later steps, open the series to "
                                 "append with rewind_to",
                                 path_, index, *last_index_));
  if (!std::isfinite(time))
    throw InputError(fmt::format("{}: the time of step {} is {}", path_, index, time));
  return {index, time};
}

void Series::Implementation::begin_step(const StepInfo &step) {
  written_.clear();
  scalars_.clear();
  deferred_.clear();
  open_step_ = step;
  declared_before_ = declared_;
  taken_ = true;
  any_begun_ = true;
  in_step([&] { taken_ = target_->begin_step(step); });
  if (!taken_)
    last_index_ = step.index;
}

void Series::flush() {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) { self_->require_writing(); });
  if (self_->target_->is_background())
    self_->in_step([&] { self_->target_->check(true); });
}

} // namespace tailrace::io
