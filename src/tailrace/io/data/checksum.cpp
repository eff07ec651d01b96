#include <tailrace/io/data/checksum.hpp>

#include <fmt/format.h>

// GCC 12 warns about the registers that its own vector intrinsics leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#define XXH_INLINE_ALL // compile the hash for this processor, like all other code
#include <xxhash.h>

namespace tailrace::io {

RunningChecksum::RunningChecksum()
    : state_(XXH3_createState(), [](void *state) { XXH3_freeState(static_cast<XXH3_state_t *>(state)); }) {
  XXH3_64bits_reset(static_cast<XXH3_state_t *>(state_.get()));
}

RunningChecksum::RunningChecksum(const RunningChecksum &other) : RunningChecksum() { *this = other; }

RunningChecksum &RunningChecksum::operator=(const RunningChecksum &other) {
  if (this != &other)
    XXH3_copyState(static_cast<XXH3_state_t *>(state_.get()), static_cast<const XXH3_state_t *>(other.state_.get()));
  return *this;
}

void RunningChecksum::add(const void *data, std::size_t bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t *>(state_.get()), data, bytes);
}

std::uint64_t RunningChecksum::number() const {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t *>(state_.get()));
}

std::string RunningChecksum::text() const { return fmt::format("{:016x}", number()); }

} // namespace tailrace::io
