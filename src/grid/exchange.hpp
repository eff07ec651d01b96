#pragma once

#include <tailrace/grid/transpose.hpp>
#include <tailrace/support/stopwatch.hpp>

#include <optional>

namespace tailrace {

/// The transposes of one decomposition, all four, made when first used. Where two pencils are the same box on every rank
/// (slabs, one rank) nothing moves: callers get their own array back.
template <class T> class Exchange {
public:
  Exchange(const Decomposition &decomposition, TransposeMethod method, std::shared_ptr<Workspace> workspace)
      : decomposition_(decomposition), method_(method), workspace_(std::move(workspace)) {}

  const Decomposition &decomposition() const { return decomposition_; }

  /// Whether going from one neighbouring pencil to the other needs no data to move.
  bool is_free(Pencil from, Pencil to) const {
    return between_rows(from, to) ? decomposition_.processes().rows() == 1 : decomposition_.processes().cols() == 1;
  }

  /// The values of `in` (pencil `from`) as the pencil `to`: `in` itself where that is free, else `out`, filled. Collective.
  T *move(Pencil from, Pencil to, T *in, T *out) {
    if (is_free(from, to))
      return in;
    const Stopwatch watch(workspace_->seconds);
    transpose(from, to)(in, out);
    return out;
  }

private:
  static bool between_rows(Pencil a, Pencil b) { return a == Pencil::x || b == Pencil::x; }
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

} // namespace tailrace
