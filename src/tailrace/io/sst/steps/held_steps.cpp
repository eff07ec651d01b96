#include <tailrace/io/sst/steps/held_steps.hpp>

#include <tailrace/io/data/block.hpp>

namespace tailrace::io {

void HeldStep::add(const Block &block) {
  Piece piece{block, std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(block.place.block.size()) *
                                                            size_of(block.type))};
  convert_block(block.place, block.type, block.type, block.data, piece.bytes.get());
  piece.block.data = piece.bytes.get();
  piece.block.place.memory = block.place.block;
  piece.block.checksum = nullptr; // it belongs to the caller, who has it now
  if (block.checksum)
    add_block(*block.checksum, piece.block.place, size_of(block.type), piece.bytes.get());
  pieces.push_back(std::move(piece));
}

} // namespace tailrace::io
