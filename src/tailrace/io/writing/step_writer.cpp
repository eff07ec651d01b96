#include <tailrace/io/writing/step_writer.hpp>

#include <tailrace/io/data/block.hpp>

namespace tailrace::io {

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
  names_.clear();
  blocks_.clear();
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
    if (!with_checksums_)
      return;
    if (!block.place.block.empty())
      blocks_.push_back({names_.size(), {0, 0, block.place.block, sum.number()}});
    names_.push_back(block.name);
  });
}

StepBlocks StepWriter::gather_blocks() const {
  std::vector<BlockRows> all = io::gather_blocks(blocks_, names_.size(), comm_);
  StepBlocks blocks;
  for (std::size_t v = 0; v < all.size(); ++v)
    if (!all[v].empty())
      blocks[names_[v]] = std::move(all[v]);
  return blocks;
}

void StepWriter::end_step(const Scalars &scalars, const std::optional<Attributes> &attributes) {
  in_step([&] {
    const Span span(trace_, Phase::metadata);
    if (attributes)
      sink_.set_attributes(*attributes);
    sink_.end_step({scalars, with_checksums_ ? std::optional(gather_blocks()) : std::nullopt});
  });
  if (replaced_)
    replaced_->remove();
  Trace::set_step(-1);
}

void StepWriter::abandon_step() noexcept { sink_.abandon_step(); }

} // namespace tailrace::io
