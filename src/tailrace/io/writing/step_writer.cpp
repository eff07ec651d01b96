#include <tailrace/io/writing/step_writer.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>

namespace tailrace::io {

using nlohmann::json;

/// Runs an engine call of the open step; when it fails, abandons the step.
template <class Work> void StepWriter::in_step(Work work) {
  try {
    work();
  } catch (...) {
    sink_.abandon_step();
    throw;
  }
}

bool StepWriter::begin_step(const StepInfo &step) {
  Trace::set_step(step.index);
  checksums_ = json::object();
  bool taken = true;
  in_step([&] {
    taken = sink_.takes_step(step);
    if (taken)
      sink_.begin_step(step);
  });
  if (!taken)
    Trace::set_step(-1);
  return taken;
}

void StepWriter::write(Block block, Type given) {
  in_step([&] {
    if (block.type != given) {
      const Span span(trace_, Phase::convert);
      comm_.agree([&] { // one rank may run out of memory
        converted_.resize(static_cast<std::size_t>(block.place.block.size()) * size_of(block.type));
        convert_block(block.place, given, block.type, block.data, converted_.data());
      });
      block.data = converted_.data();
      block.place.memory = block.place.block;
    }
    RunningChecksum sum;
    if (with_checksums_)
      block.checksum = &sum;
    sink_.write(block);
    const auto &[start, count] = block.place.block;
    if (with_checksums_ && !block.place.block.empty())
      checksums_[block.name] = {start[2], start[1], start[0], count[2], count[1], count[0], sum.text()};
  });
}

std::string StepWriter::gather_checksums() const {
  json all = json::object();
  for (const auto &text : comm_.gather(valid_json_text(checksums_), 0)) {
    const json ours = parse_json(text);
    for (const auto &[name, sum] : ours.items())
      all[name].push_back(sum);
  }
  return valid_json_text(all);
}

void StepWriter::end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) {
  in_step([&] {
    const Span span(trace_, Phase::metadata);
    if (attributes)
      sink_.set_attributes(*attributes);
    sink_.end_step({scalars, with_checksums_ ? gather_checksums() : ""});
  });
  if (replaced_)
    replaced_->remove();
  Trace::set_step(-1);
}

void StepWriter::abandon_step() noexcept { sink_.abandon_step(); }

} // namespace tailrace::io
