#pragma once

#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::grid {

/// How blocks travel between ranks.
enum class TransposeMethod {
  alltoall, ///< packed by us into one message per peer; blocks that are contiguous already are sent and received in
            ///< place
  shared,   ///< ranks of a node work on each other's memory along z, so nothing moves there; alltoall between X and Y
  subarray, ///< described to MPI as subarray types, packed by the library; `start` does all the work
};

/// "alltoall", "shared" or "subarray"; anything else is an InputError.
TransposeMethod transpose_method_from_name(const std::string &name);
const char *transpose_method_name(TransposeMethod method);

/// Scratch for packing, shared by transposes that never run at the same time; it grows to the largest of them.
class Workspace {
public:
  std::byte *send(std::int64_t bytes) { return grow(send_, bytes); }
  std::byte *receive(std::int64_t bytes) { return grow(receive_, bytes); }
  double seconds = 0; ///< wall time spent in transposes that share this workspace

private:
  static std::byte *grow(Buffer<std::byte> &buffer, std::int64_t bytes);
  Buffer<std::byte> send_, receive_;
};

/// A reusable plan that moves arrays of T between neighbouring pencils (X<->Y, Y<->Z) of one decomposition.
template <class T> class Transpose {
public:
  /// Collective. InputError for X<->Z, which goes through Y.
  Transpose(const Decomposition &decomposition, Pencil from, Pencil to, TransposeMethod method,
            std::shared_ptr<Workspace> workspace);
  Transpose(Transpose &&) noexcept;
  Transpose &operator=(Transpose &&) = delete;
  ~Transpose();

  /// `in` fills this rank's box in the pencil `from`, `out` its box in `to`; they must not overlap. Collective over the
  /// ranks that exchange data.
  void operator()(const T *in, T *out) {
    start(in, out);
    finish();
  }
  /// Several arrays, of which each peer gets its parts in one message, as long as that stays below a limit.
  void operator()(const std::vector<T *> &in, const std::vector<T *> &out);
  /// The same in two halves, with work in between; neither array may be touched until `finish` returns.
  void start(const T *in, T *out);
  void finish();

private:
  struct Side {
    Box memory;              ///< this rank's box in that pencil
    std::vector<Box> blocks; ///< the part of it that each peer sends or receives
    std::vector<int> counts; ///< points per block
    std::vector<int> starts; ///< where each block starts, in the array (direct) or in the packed buffer
    std::vector<MPI_Datatype> types;
    bool direct = false; ///< every block is one contiguous run of the array
  };
  static Side describe(const Box &mine, const std::vector<Box> &theirs);
  void make_types(Side &side) const;
  void move_together(const T *const *in, T *const *out, int arrays);
  bool packs() const { return method_ != TransposeMethod::subarray; }

  Communicator comm_;
  TransposeMethod method_;
  std::shared_ptr<Workspace> workspace_;
  Side from_, to_;
  T *unpack_into_ = nullptr;
  std::vector<MPI_Request> requests_; ///< receives first, then sends
};

} // namespace tailrace::grid
