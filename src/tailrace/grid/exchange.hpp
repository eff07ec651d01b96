#pragma once

#include <tailrace/grid/lines.hpp>
#include <tailrace/grid/shared_memory.hpp>
#include <tailrace/grid/transpose.hpp>
#include <tailrace/support/stopwatch.hpp>

#include <optional>

namespace tailrace::grid {

/// Moves arrays of one decomposition between pencils. Where two pencils are the same box on every rank (slabs, one
/// rank) no data move, and callers get their own array back. With TransposeMethod::shared no data move between Y and Z
/// either: arrays made by `allocate` are one piece of memory on a node, and Z pencils are columns of it.
template <class T> class Exchange {
public:
  Exchange(const Decomposition &decomposition, TransposeMethod method, std::shared_ptr<Workspace> workspace)
      : decomposition_(decomposition), method_(method), workspace_(std::move(workspace)) {}

  const Decomposition &decomposition() const { return decomposition_; }

  /// Memory for this rank's Y pencil (the X pencil too, where they are the same) that can be given to `move`, with
  /// `values` values per point. Collective.
  Buffer<T> allocate(int values = 1) const {
    const std::int64_t size = decomposition_.box(Pencil::y).size() * values;
    return shares() ? shared_buffer<T>(across_cols(), size) : Buffer<T>(size);
  }

  /// Whether no data need to move between two neighbouring pencils. Local; the same on all ranks.
  bool is_free(Pencil from, Pencil to) const {
    return between_rows(from, to) ? decomposition_.processes().rows() == 1 : across_cols().size() == 1 || shares();
  }

  /// Returns the values of `in` (pencil `from`) in the pencil `to`: `in` itself where no data need to move, else `out`,
  /// filled. With shared memory it also waits for the ranks that use the same memory. Collective.
  T *move(Pencil from, Pencil to, T *in, T *out) {
    return move(from, to, std::vector<T *>{in}, std::vector<T *>{out}).front();
  }

  /// The same for several arrays, with one message to each peer for all of them. `out` may be empty where no data need
  /// to move. Collective.
  std::vector<T *> move(Pencil from, Pencil to, const std::vector<T *> &in, const std::vector<T *> &out) {
    const Stopwatch watch(workspace_->seconds);
    if (is_free(from, to)) {
      if (!between_rows(from, to))
        wait();
      return in;
    }
    if (!in.empty())
      transpose(from, to)(in, out);
    return out;
  }

  /// Whether ranks work on each other's memory between Y and Z.
  bool shares() const { return method_ == TransposeMethod::shared && across_cols().size() > 1; }

  /// Waits until all ranks that share memory with this one have called it. Collective.
  void wait() const {
    if (shares())
      across_cols().barrier();
  }

  /// This rank's lines along z, and where they start in an array that `move` returned for the Z pencil. Local.
  Lines z_lines() const {
    const Box box = decomposition_.box(Pencil::z);
    Lines lines = Lines::along(2, box.count);
    if (shares())
      lines.stride = decomposition_.box(Pencil::y).count[0] * decomposition_.box(Pencil::y).count[1];
    return lines;
  }
  T *z_start(T *array) const {
    if (!shares())
      return array;
    const Box y = decomposition_.box(Pencil::y), z = decomposition_.box(Pencil::z);
    return array - y.start[2] * y.count[0] * y.count[1] + z.start[1] * z.count[0];
  }

private:
  static bool between_rows(Pencil a, Pencil b) { return a == Pencil::x || b == Pencil::x; }
  const Communicator &across_cols() const { return decomposition_.processes().across_cols(); }
  Transpose<T> &transpose(Pencil from, Pencil to) {
    auto &plan = plans_[between_rows(from, to) ? 0 : 1][from < to ? 0 : 1];
    if (!plan)
      plan.emplace(decomposition_, from, to, method_, workspace_);
    return *plan;
  }

  Decomposition decomposition_;
  TransposeMethod method_;
  std::shared_ptr<Workspace> workspace_;
  std::optional<Transpose<T>> plans_[2][2]; ///< [X and Y, Y and Z][there, back]
};

} // namespace tailrace::grid
