#pragma once

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/grid/decomposition.hpp>
#include <tailrace/grid/field.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tailrace::grid {

/// How blocks travel between ranks.
enum class TransposeMethod {
  alltoall, ///< packed into one message per peer; blocks that are contiguous are sent and received in place
  shared,   ///< ranks of a node work on each other's memory along z, so nothing moves there; alltoall between X and Y
  subarray, ///< described to MPI as subarray types and packed by the MPI library
};

/// From "alltoall", "shared" or "subarray"; throws InputError for any other name.
TransposeMethod transpose_method_from_name(const std::string &name);
const char *transpose_method_name(TransposeMethod method);

/// Memory for packed blocks, shared by transposes that never run at the same time. It grows to the largest size needed.
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
  /// Collective. Throws InputError for X<->Z, which needs two transposes, through Y.
  Transpose(const Decomposition &decomposition, Pencil from, Pencil to, TransposeMethod method,
            std::shared_ptr<Workspace> workspace);
  Transpose(Transpose &&) noexcept;
  Transpose &operator=(Transpose &&) = delete;
  ~Transpose();

  /// `in` covers this rank's box in the pencil `from`, `out` its box in `to`; they must not overlap. Collective over
  /// the ranks that exchange data.
  void operator()(const T *in, T *out) { move(&in, &out, 1); }
  /// Several arrays: each peer gets its blocks of all of them in one message, or in several where that would be larger
  /// than 256 MiB on some rank. Collective, with the same number of arrays on all ranks.
  void operator()(const std::vector<T *> &in, const std::vector<T *> &out);

private:
  struct Side {
    Box memory;                       ///< this rank's box in that pencil
    std::vector<Box> blocks;          ///< the part of it that each peer sends or receives
    std::vector<int> counts;          ///< points per block
    std::vector<std::int64_t> packed; ///< where each block starts in packed memory of one array
    std::vector<MPI_Datatype> types;
    bool direct = true; ///< every block is one contiguous run of the array
    /// Where a block starts in the array.
    std::int64_t place(int peer) const { return counts[peer] == 0 ? 0 : offset_in(memory, blocks[peer]); }
  };
  static Side describe(const Box &mine, const std::vector<Box> &theirs);
  static std::int64_t bytes(const Side &side, int arrays) {
    return side.memory.size() * arrays * static_cast<std::int64_t>(sizeof(T));
  }
  void make_types(Side &side) const;
  void move(const T *const *in, T *const *out, int arrays);
  const T *receive_all(T *const *out, int arrays, std::vector<MPI_Request> &requests) const;
  void send_all(const T *const *in, int arrays, std::vector<MPI_Request> &requests) const;

  Communicator comm_;
  TransposeMethod method_;
  std::shared_ptr<Workspace> workspace_;
  Side from_, to_;
  std::size_t together_ = 1; ///< how many arrays are packed into one message
};

} // namespace tailrace::grid
