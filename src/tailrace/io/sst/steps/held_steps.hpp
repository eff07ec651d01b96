#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <deque>
#include <memory>

namespace tailrace::io {

/// What a step of a stream holds besides its blocks.
struct StreamStep {
  StepInfo info;
  StepMetadata metadata;
  Attributes attributes;
};

/// A copy of a step, held until the readers have room for it.
struct HeldStep : StreamStep {
  struct Piece {
    Block block;
    std::unique_ptr<char[]> bytes;
  };
  std::vector<Piece> pieces; ///< this rank's blocks

  /// Copies the block, and adds it to its checksum. Throws std::bad_alloc. Local.
  void add(const Block &block);
};

/// The oldest step comes first, the open one last.
using HeldSteps = std::deque<HeldStep>;

} // namespace tailrace::io
