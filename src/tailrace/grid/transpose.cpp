#include <tailrace/grid/transpose.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <array>
#include <complex>
#include <cstring>
#include <limits>

namespace tailrace::grid {

namespace {

/// Offset of the first point of `block` in memory that holds `box`.
std::int64_t offset_in(const Box &box, const Box &block) {
  return block.start[0] - box.start[0] +
         box.count[0] * (block.start[1] - box.start[1] + box.count[1] * (block.start[2] - box.start[2]));
}

/// Whether `block` is one run of memory inside `box`.
bool is_contiguous(const Box &box, const Box &block) {
  if (block.empty())
    return true;
  int outer = 2;
  while (outer > 0 && block.count[outer] == 1)
    --outer;
  for (int d = 0; d < outer; ++d)
    if (block.count[d] != box.count[d])
      return false;
  return true;
}

/// Calls copy(offset in memory, run length) for each contiguous x run of the block.
template <class Copy> void for_each_run(const Box &box, const Box &block, Copy copy) {
  if (block.empty())
    return;
  const bool whole_rows = block.count[0] == box.count[0]; // then a plane's rows follow each other
  const std::int64_t run = whole_rows ? block.count[0] * block.count[1] : block.count[0];
  const std::int64_t rows = whole_rows ? 1 : block.count[1];
  const std::int64_t first = offset_in(box, block);
  for (std::int64_t k = 0; k < block.count[2]; ++k)
    for (std::int64_t j = 0; j < rows; ++j)
      copy(first + box.count[0] * (j + box.count[1] * k), run);
}

template <class T> void pack(const Box &box, const Box &block, const T *from, T *packed) {
  for_each_run(box, block, [&](std::int64_t offset, std::int64_t run) {
    std::memcpy(packed, from + offset, static_cast<std::size_t>(run) * sizeof(T));
    packed += run;
  });
}

template <class T> void unpack(const Box &box, const Box &block, const T *packed, T *to) {
  for_each_run(box, block, [&](std::int64_t offset, std::int64_t run) {
    std::memcpy(to + offset, packed, static_cast<std::size_t>(run) * sizeof(T));
    packed += run;
  });
}

/// Copies `block` from memory that holds the box `from` to memory that holds the box `to`, x run by x run.
template <class T> void copy_block(const Box &from, const T *in, const Box &to, T *out, const Box &block) {
  Box row = block;
  row.count[1] = row.count[2] = 1;
  for (std::int64_t k = 0; k < block.count[2]; ++k)
    for (std::int64_t j = 0; j < block.count[1]; ++j) {
      row.start[1] = block.start[1] + j;
      row.start[2] = block.start[2] + k;
      std::memcpy(out + offset_in(to, row), in + offset_in(from, row),
                  static_cast<std::size_t>(block.count[0]) * sizeof(T));
    }
}

constexpr int tag = 1; ///< exchanges of a plan follow each other in order, so one tag is enough

} // namespace

namespace {
constexpr std::array<const char *, 3> method_names{"alltoall", "shared", "subarray"};
}

TransposeMethod transpose_method_from_name(const std::string &name) {
  for (std::size_t i = 0; i < method_names.size(); ++i)
    if (name == method_names[i])
      return static_cast<TransposeMethod>(i);
  throw InputError(fmt::format("transpose method '{}' is unknown; choose alltoall, shared or subarray", name));
}

const char *transpose_method_name(TransposeMethod method) { return method_names[static_cast<std::size_t>(method)]; }

std::byte *Workspace::grow(Buffer<std::byte> &buffer, std::int64_t bytes) {
  if (buffer.size() < bytes)
    buffer = Buffer<std::byte>(bytes);
  return buffer.data();
}

template <class T> auto Transpose<T>::describe(const Box &mine, const std::vector<Box> &theirs) -> Side {
  Side side;
  side.memory = mine;
  side.direct = true;
  std::int64_t packed = 0;
  if (mine.size() > std::numeric_limits<int>::max())
    throw InputError(fmt::format("a rank's box has {} points; MPI counts at most {}; use more ranks", mine.size(),
                                 std::numeric_limits<int>::max()));
  for (const Box &other : theirs) {
    const Box block = mine.intersect(other);
    side.blocks.push_back(block);
    side.counts.push_back(static_cast<int>(block.size()));
    side.starts.push_back(static_cast<int>(packed));
    packed += block.size();
    side.direct = side.direct && is_contiguous(mine, block);
  }
  if (side.direct)
    for (std::size_t p = 0; p < side.blocks.size(); ++p)
      side.starts[p] = side.blocks[p].empty() ? 0 : static_cast<int>(offset_in(mine, side.blocks[p]));
  return side;
}

template <class T> void Transpose<T>::make_types(Side &side) const {
  for (const Box &block : side.blocks) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (block.empty()) {
      check_mpi(MPI_Type_contiguous(0, mpi_type<T>(), &type), "MPI_Type_contiguous");
    } else {
      int sizes[3], counts[3], starts[3];
      for (int d = 0; d < 3; ++d) {
        sizes[2 - d] = static_cast<int>(side.memory.count[d]);
        counts[2 - d] = static_cast<int>(block.count[d]);
        starts[2 - d] = static_cast<int>(block.start[d] - side.memory.start[d]);
      }
      check_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, mpi_type<T>(), &type),
                "MPI_Type_create_subarray");
    }
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    side.types.push_back(type);
  }
}

namespace {
bool between_rows(Pencil from, Pencil to) {
  const auto pair = std::minmax(from, to);
  if (pair.first == Pencil::x && pair.second == Pencil::y)
    return true;
  if (pair.first == Pencil::y && pair.second == Pencil::z)
    return false;
  throw InputError("transposes join neighbouring pencils (X<->Y or Y<->Z); go from X to Z through Y");
}
} // namespace

template <class T>
Transpose<T>::Transpose(const Decomposition &decomposition, Pencil from, Pencil to, TransposeMethod method,
                        std::shared_ptr<Workspace> workspace)
    : comm_(between_rows(from, to) ? decomposition.processes().across_rows() : decomposition.processes().across_cols()),
      method_(method), workspace_(std::move(workspace)) {
  const ProcessGrid &processes = decomposition.processes();
  std::vector<Box> theirs_from, theirs_to;
  for (int p = 0; p < comm_.size(); ++p) {
    const int row = between_rows(from, to) ? p : processes.row();
    const int col = between_rows(from, to) ? processes.col() : p;
    theirs_from.push_back(decomposition.box(from, row, col));
    theirs_to.push_back(decomposition.box(to, row, col));
  }
  from_ = describe(decomposition.box(from), theirs_to);
  to_ = describe(decomposition.box(to), theirs_from);
  if (!packs()) {
    make_types(from_);
    make_types(to_);
  }
}

template <class T>
Transpose<T>::Transpose(Transpose &&other) noexcept
    : comm_(std::move(other.comm_)), method_(other.method_), workspace_(std::move(other.workspace_)),
      from_(std::move(other.from_)), to_(std::move(other.to_)), unpack_into_(other.unpack_into_),
      requests_(std::move(other.requests_)) {
  other.from_.types.clear();
  other.to_.types.clear();
}

template <class T> Transpose<T>::~Transpose() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized)
    return;
  for (auto *side : {&from_, &to_})
    for (MPI_Datatype &type : side->types)
      MPI_Type_free(&type);
}

template <class T> void Transpose<T>::start(const T *in, T *out) {
  const int peers = comm_.size();
  if (!packs()) {
    const std::vector<int> ones(peers, 1), zeros(peers, 0);
    check_mpi(MPI_Alltoallw(in, ones.data(), zeros.data(), from_.types.data(), out, ones.data(), zeros.data(),
                            to_.types.data(), comm_.get()),
              "MPI_Alltoallw");
    return;
  }
  const int me = comm_.rank();
  const auto bytes = [](const Side &side) { return side.memory.size() * static_cast<std::int64_t>(sizeof(T)); };
  T *receive = to_.direct ? out : reinterpret_cast<T *>(workspace_->receive(bytes(to_)));
  for (int step = 1; step < peers; ++step) { // everybody starts with another peer
    const int peer = (me - step + peers) % peers;
    check_mpi(MPI_Irecv(receive + to_.starts[peer], to_.counts[peer], mpi_type<T>(), peer, tag, comm_.get(),
                        &requests_.emplace_back()),
              "MPI_Irecv");
  }
  T *packed = from_.direct ? nullptr : reinterpret_cast<T *>(workspace_->send(bytes(from_)));
  for (int step = 1; step < peers; ++step) {
    const int peer = (me + step) % peers;
    const T *block = in + from_.starts[peer];
    if (packed) {
      pack(from_.memory, from_.blocks[peer], in, packed + from_.starts[peer]);
      block = packed + from_.starts[peer];
    }
    check_mpi(MPI_Isend(block, from_.counts[peer], mpi_type<T>(), peer, tag, comm_.get(), &requests_.emplace_back()),
              "MPI_Isend");
  }
  // What stays here needs neither a message nor a buffer.
  copy_block(from_.memory, in, to_.memory, out, from_.blocks[me]);
  unpack_into_ = to_.direct ? nullptr : out;
}

template <class T> void Transpose<T>::finish() {
  const T *packed = unpack_into_ ? reinterpret_cast<const T *>(workspace_->receive(0)) : nullptr;
  const int peers = comm_.size(), receives = std::min<int>(peers - 1, static_cast<int>(requests_.size()));
  for (int done = 0; done < receives; ++done) {
    int which = 0;
    check_mpi(MPI_Waitany(receives, requests_.data(), &which, MPI_STATUS_IGNORE), "MPI_Waitany");
    const int peer = (comm_.rank() - which - 1 + peers) % peers;
    if (packed)
      unpack(to_.memory, to_.blocks[peer], packed + to_.starts[peer], unpack_into_);
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  requests_.clear();
  unpack_into_ = nullptr;
}

template <class T> void Transpose<T>::operator()(const std::vector<T *> &in, const std::vector<T *> &out) {
  constexpr std::int64_t limit = std::int64_t{1} << 28; // bytes of scratch on either side
  const std::int64_t largest = std::max<std::int64_t>({1, from_.memory.size(), to_.memory.size()});
  const std::int64_t fit = limit / static_cast<std::int64_t>(sizeof(T)) / largest;
  const std::size_t together = packs() ? static_cast<std::size_t>(std::max<std::int64_t>(1, fit)) : 1;
  for (std::size_t first = 0; first < in.size(); first += together) {
    const std::size_t arrays = std::min(together, in.size() - first);
    if (arrays == 1)
      (*this)(in[first], out[first]);
    else
      move_together(in.data() + first, out.data() + first, static_cast<int>(arrays));
  }
}

template <class T> void Transpose<T>::move_together(const T *const *in, T *const *out, int arrays) {
  const int peers = comm_.size(), me = comm_.rank();
  const auto starts = [&](const Side &side) {
    std::vector<std::int64_t> result(1, 0);
    for (const int count : side.counts)
      result.push_back(result.back() + std::int64_t{count} * arrays);
    return result;
  };
  const auto sent = starts(from_), received = starts(to_);
  const auto bytes = [](std::int64_t values) { return values * static_cast<std::int64_t>(sizeof(T)); };
  T *send = reinterpret_cast<T *>(workspace_->send(bytes(sent.back())));
  T *receive = reinterpret_cast<T *>(workspace_->receive(bytes(received.back())));
  std::vector<MPI_Request> requests;
  for (int step = 1; step < peers; ++step) {
    const int peer = (me - step + peers) % peers;
    check_mpi(MPI_Irecv(receive + received[peer], to_.counts[peer] * arrays, mpi_type<T>(), peer, tag, comm_.get(),
                        &requests.emplace_back()),
              "MPI_Irecv");
  }
  for (int step = 1; step < peers; ++step) {
    const int peer = (me + step) % peers;
    for (int a = 0; a < arrays; ++a)
      pack(from_.memory, from_.blocks[peer], in[a], send + sent[peer] + std::int64_t{a} * from_.counts[peer]);
    check_mpi(MPI_Isend(send + sent[peer], from_.counts[peer] * arrays, mpi_type<T>(), peer, tag, comm_.get(),
                        &requests.emplace_back()),
              "MPI_Isend");
  }
  for (int a = 0; a < arrays; ++a)
    copy_block(from_.memory, in[a], to_.memory, out[a], from_.blocks[me]);
  for (int done = 1; done < peers; ++done) {
    int which = 0;
    check_mpi(MPI_Waitany(peers - 1, requests.data(), &which, MPI_STATUS_IGNORE), "MPI_Waitany");
    const int peer = (me - which - 1 + peers) % peers;
    for (int a = 0; a < arrays; ++a)
      unpack(to_.memory, to_.blocks[peer], receive + received[peer] + std::int64_t{a} * to_.counts[peer], out[a]);
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

template class Transpose<float>;
template class Transpose<double>;
template class Transpose<std::complex<float>>;
template class Transpose<std::complex<double>>;

} // namespace tailrace::grid
