#include <tailrace/io/components.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/series_implementation.hpp>
#include <tailrace/io/storable.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

/// The writing of a series as its users call it; series_writing.cpp does the work.
namespace tailrace::io {

void Series::declare(const std::string &name, const Index3 &shape, Type stored) {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) {
    self_->require_writing();
    check_storable_name(name, engine_traits(self_->engine_name_));
    check_storable(name, stored, engine_traits(self_->engine_name_));
    check_placement(name, {shape, {}, {}}, nullptr);
    if (self_->declared_.count(name))
      throw InputError(fmt::format("{}: '{}' is already declared or written", path(), name));
  });
  self_->declared_[name] = {{name, stored, shape}, true};
}

bool Series::begin_step(std::int64_t index, double time) {
  const Implementation::Turn turn(*self_);
  self_->begin_step(self_->check_begin(index, time));
  return self_->taken_;
}

bool Series::step_taken() const { return self_->taken_; }

std::optional<std::int64_t> Series::last_index() const { return self_->last_index_; }

void Series::write(const std::function<WriteRequest()> &make) {
  const Implementation::Turn turn(*self_);
  auto checked = self_->check_write([&] {
    self_->require_step();
    return make();
  });
  self_->take(checked);
}

void Series::write(const std::string &name, Type type, const void *data, const Placement &place, Put put) {
  write([&] { return WriteRequest{name, type, data, place, {}, {}, put}; });
}

void Series::write_region(const std::string &name, Type type, const void *data, const Placement &place,
                          const Region &region) {
  write([&] { return WriteRequest{name, type, data, place, {}, region}; });
}

void Series::write_list(const std::string &name, Type type, const void *data, std::int64_t rows, std::int64_t columns) {
  const Box block{{0, 0, 0}, {columns, rows, 1}};
  write([&] { return WriteRequest{name, type, data, {block.count, block, block}, {}, {}, Put::sync, true}; });
}

void Series::write_scalar(const std::string &name, const Scalar &value) {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) {
    self_->require_step();
    self_->require_new(name);
    check_storable(name, value, engine_traits(self_->engine_name_));
  });
  self_->scalars_[name] = value;
}

void Series::set_attribute(const std::string &name, const Attribute &value) {
  const Implementation::Turn turn(*self_);
  self_->enter([&](Tally &) {
    self_->require_writing();
    check_attribute_name(name);
    check_storable(name, value, engine_traits(self_->engine_name_));
  });
  // Every rank gets that of rank 0: in formats of ADIOS2 each rank stores its own, and a reader takes any of them.
  const std::string text = self_->comm_.from_root([&] { return valid_json_text(attributes_to_json({{name, value}})); });
  for (auto &[known, stored] : attributes_from_json(parse_json(text)))
    self_->attributes_[known] = std::move(stored);
  self_->attributes_changed_ = true;
}

void Series::end_step() {
  const Implementation::Turn turn(*self_);
  self_->end_step();
}

void Series::abandon_step() {
  if (self_->is_copy()) // the step is that of the other process
    return;
  const Implementation::Turn turn(*self_);
  self_->abandon_step();
}

namespace {

/// Throws InputError if two of the names of all that a step holds are the same.
void check_names(const StepRequest &step, const EngineTraits &traits) {
  std::vector<std::string> names;
  for (const auto &array : step.arrays)
    if (array.components)
      for (std::int64_t c = 0; c < *array.components; ++c)
        names.push_back(component_name(array.name, c));
    else
      names.push_back(array.name);
  for (const auto &[name, value] : step.scalars)
    names.push_back(name);
  for (const auto &name : names) {
    check_storable_name(name, traits);
    if (std::ranges::count(names, name) > 1 || name == "time" || name == "step")
      throw InputError(fmt::format("'{}' is given twice in one step, or is what every step has", name));
  }
  for (const auto &[name, value] : step.scalars)
    check_storable(name, value, traits);
}

/// The parts of requests that must be equal on all ranks. A vector differs from its components one by one.
std::string describe_step(const StepRequest &step) {
  std::vector<std::string> all;
  for (const auto &array : step.arrays)
    all.push_back(array.components ? fmt::format("{} ({} components)", array.name, *array.components) : array.name);
  for (const auto &[name, value] : step.scalars)
    all.push_back(fmt::format("{} (a single value)", name));
  return fmt::format("{}", fmt::join(all, ", "));
}

} // namespace

void Series::write_step(const std::function<StepRequest()> &make) {
  const Implementation::Turn turn(*self_);
  self_->write_step(make);
}

void Series::Implementation::write_step(const std::function<StepRequest()> &make) {
  StepRequest step;
  std::string ours;
  const Tally all = enter([&](Tally &tally) {
    step = make();
    check_names(step, engine_traits(engine_name_));
    ours = describe_step(step);
    tally.compare(1, static_cast<std::int64_t>(std::hash<std::string>{}(ours)));
  });
  compare_requests(ours, all);
  const StepInfo info = check_begin(step.index, step.time);
  written_.clear();
  scalars_.clear();
  std::vector<Checked> arrays;
  for (const auto &request : step.arrays)
    arrays.push_back(check_write([&] { return request; }));
  begin_step(info);
  try {
    for (auto &array : arrays)
      take(array);
    scalars_ = std::move(step.scalars);
    end_step();
  } catch (...) {
    abandon_step();
    throw;
  }
}

void Series::close() {
  const Implementation::Turn turn(*self_);
  self_->close();
}

} // namespace tailrace::io
