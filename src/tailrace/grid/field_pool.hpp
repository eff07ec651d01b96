#pragma once

#include <tailrace/grid/exchange.hpp>

#include <cstdint>
#include <mutex>

namespace tailrace::grid {

/// Memory for the fields of one decomposition. Memory that is released is used again, because new memory costs as much
/// time as a derivative. Where ranks share memory along z (see Exchange), each field is in a slot of shared memory, and
/// slots of the same number are one array of all ranks. Fields may live longer than the pool.
template <class T> class FieldPool {
public:
  /// Reserves address space for all slots; the system gives memory when a slot is used. Collective.
  explicit FieldPool(const Exchange<T> &exchange) : state_(std::make_shared<State>()) {
    const Decomposition &decomposition = exchange.decomposition();
    const Communicator &columns = decomposition.processes().across_cols();
    state_->size = decomposition.box(Pencil::x).size();
    if (!exchange.is_free(Pencil::x, Pencil::y) || !exchange.shares())
      return;
    constexpr std::int64_t page = 4096 / sizeof(T);
    state_->before = columns.exclusive_scan(state_->size);
    state_->stride = (columns.sum(state_->size) + page - 1) / page * page;
    const std::int64_t bytes = most_slots * state_->stride * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t given = columns.rank() == 0 ? bytes : 0;
    const std::int64_t behind = columns.rank() == 0 ? 0 : bytes;
    state_->memory = share_memory(columns, given);
    state_->start = reinterpret_cast<T *>(state_->memory.get() - behind);
    state_->used.assign(most_slots, false);
    state_->fresh.assign(most_slots, true);
  }

  /// Memory for this rank's X pencil, not initialised. With `reach` it is in memory that the other ranks share, if
  /// there is any: the lowest free slot, so that ranks that make the same calls get the same slot. Without `reach` it
  /// is memory of this rank alone, in which sweeps along x and y of small fields take a quarter longer. Local.
  Buffer<T> take(bool reach = true) {
    const std::lock_guard lock(state_->mutex);
    return reach ? take_slot() : take_own();
  }

  /// Registers memory that Exchange::allocate made elsewhere, such as the solver's fields, and gives it a number as
  /// slots have. Call it on all ranks in the same order. Local.
  void register_shared(const T *array) {
    if (slot(array) < 0)
      shared_.push_back(array);
  }

  /// The number of the slot of an array of this rank; -1 if it is in none, so that other ranks cannot read it. Local.
  std::int64_t slot(const T *array) const {
    const auto found = std::find(shared_.begin(), shared_.end(), array);
    if (found != shared_.end())
      return most_slots + (found - shared_.begin());
    if (!state_->start)
      return -1;
    const std::int64_t offset = array - (state_->start + state_->before);
    const bool inside = offset >= 0 && offset < most_slots * state_->stride && offset % state_->stride == 0;
    return inside ? offset / state_->stride : -1;
  }

private:
  Buffer<T> take_slot() {
    const auto free = std::find(state_->used.begin(), state_->used.end(), false);
    if (free != state_->used.end()) {
      *free = true;
      const auto slot = static_cast<std::size_t>(free - state_->used.begin());
      T *const start = state_->start + static_cast<std::int64_t>(slot) * state_->stride + state_->before;
      if (state_->fresh[slot])
        use_large_pages(reinterpret_cast<const std::byte *>(start), state_->size * std::int64_t{sizeof(T)});
      state_->fresh[slot] = false;
      const auto give_back = [state = state_, slot](T *) {
        const std::lock_guard hold(state->mutex);
        state->used[slot] = false;
      };
      return Buffer<T>(std::shared_ptr<T>(start, give_back), state_->size);
    }
    return take_own();
  }

  Buffer<T> take_own() {
    auto kept = std::make_shared<Buffer<T>>();
    if (state_->idle.empty()) {
      *kept = Buffer<T>(state_->size);
    } else {
      *kept = std::move(state_->idle.back());
      state_->idle.pop_back();
    }
    const auto give_back = [state = state_, kept](T *) {
      const std::lock_guard hold(state->mutex);
      state->idle.push_back(std::move(*kept));
    };
    return Buffer<T>(std::shared_ptr<T>(kept->data(), give_back), state_->size);
  }

  static constexpr std::int64_t most_slots = 256;
  struct State {
    std::mutex mutex;
    std::int64_t size = 0;
    std::vector<Buffer<T>> idle;
    std::shared_ptr<std::byte> memory; ///< null: nothing is shared
    T *start = nullptr;
    std::int64_t before = 0, stride = 0;
    std::vector<bool> used, fresh;
  };
  std::shared_ptr<State> state_;
  std::vector<const T *> shared_;
};

} // namespace tailrace::grid
