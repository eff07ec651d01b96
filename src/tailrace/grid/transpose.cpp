#include <tailrace/grid/transpose.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <array>
#include <complex>
#include <limits>

namespace tailrace::grid {

namespace {

constexpr int tag = 1; // messages between two ranks of a plan arrive in the order of sending, so one tag is enough

/// Limit of the packed data of several arrays on one rank.
constexpr std::int64_t packed_bytes = std::int64_t{1} << 28;

constexpr std::array<const char *, 3> method_names{"alltoall", "shared", "subarray"};

/// Whether ranks of different rows of the process grid exchange data between two pencils; otherwise those of different
/// columns do.
bool between_rows(Pencil from, Pencil to) {
  const auto pair = std::minmax(from, to);
  if (pair.first == Pencil::x && pair.second == Pencil::y)
    return true;
  if (pair.first == Pencil::y && pair.second == Pencil::z)
    return false;
  throw InputError("transposes join neighbouring pencils (X<->Y or Y<->Z); go from X to Z through Y");
}

} // namespace

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
  if (mine.size() > std::numeric_limits<int>::max())
    throw InputError(fmt::format("a rank's box has {} points; MPI counts at most {}; use more ranks", mine.size(),
                                 std::numeric_limits<int>::max()));
  Side side;
  side.memory = mine;
  std::int64_t before = 0;
  for (const Box &other : theirs) {
    const Box block = mine.intersect(other);
    side.blocks.push_back(block);
    side.counts.push_back(static_cast<int>(block.size()));
    side.packed.push_back(before);
    before += block.size();
    side.direct = side.direct && is_one_run(block, mine);
  }
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
  std::int64_t largest = 1; // of all peers, so that they agree on the number of messages
  for (const auto *boxes : {&theirs_from, &theirs_to})
    for (const Box &box : *boxes)
      largest = std::max(largest, box.size());
  together_ = static_cast<std::size_t>(
      std::max<std::int64_t>(1, packed_bytes / static_cast<std::int64_t>(sizeof(T)) / largest));
  from_ = describe(decomposition.box(from), theirs_to);
  to_ = describe(decomposition.box(to), theirs_from);
  if (method_ == TransposeMethod::subarray) {
    make_types(from_);
    make_types(to_);
  }
}

template <class T>
Transpose<T>::Transpose(Transpose &&other) noexcept
    : comm_(std::move(other.comm_)), method_(other.method_), workspace_(std::move(other.workspace_)),
      from_(std::move(other.from_)), to_(std::move(other.to_)), together_(other.together_) {
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

template <class T> void Transpose<T>::operator()(const std::vector<T *> &in, const std::vector<T *> &out) {
  for (std::size_t first = 0; first < in.size(); first += together_)
    move(in.data() + first, out.data() + first, static_cast<int>(std::min(together_, in.size() - first)));
}

template <class T> void Transpose<T>::move(const T *const *in, T *const *out, int arrays) {
  if (method_ == TransposeMethod::subarray) {
    const std::vector<int> ones(comm_.size(), 1), zeros(comm_.size(), 0);
    for (int a = 0; a < arrays; ++a)
      check_mpi(MPI_Alltoallw(in[a], ones.data(), zeros.data(), from_.types.data(), out[a], ones.data(), zeros.data(),
                              to_.types.data(), comm_.get()),
                "MPI_Alltoallw");
    return;
  }
  std::vector<MPI_Request> requests; // receives first, then sends
  requests.reserve(2 * static_cast<std::size_t>(comm_.size()));
  const T *received = receive_all(out, arrays, requests);
  send_all(in, arrays, requests);
  // What stays on this rank needs neither a message nor a buffer.
  const int me = comm_.rank();
  for (int a = 0; a < arrays; ++a)
    copy_part(from_.blocks[me], from_.memory, in[a], to_.memory, out[a]);
  const int peers = comm_.size();
  for (int done = 1; done < peers; ++done) {
    int which = 0;
    check_mpi(MPI_Waitany(peers - 1, requests.data(), &which, MPI_STATUS_IGNORE), "MPI_Waitany");
    const int peer = (me - which - 1 + peers) % peers;
    for (int a = 0; a < arrays && received; ++a)
      unpack(to_.blocks[peer], received + to_.packed[peer] * arrays + std::int64_t{a} * to_.counts[peer], to_.memory,
             out[a]);
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

/// Starts one receive from each peer. Returns where the packed blocks arrive; null if they arrive in the array itself.
template <class T>
const T *Transpose<T>::receive_all(T *const *out, int arrays, std::vector<MPI_Request> &requests) const {
  const int peers = comm_.size();
  const bool in_place = to_.direct && arrays == 1;
  T *const buffer = in_place ? nullptr : reinterpret_cast<T *>(workspace_->receive(bytes(to_, arrays)));
  for (int step = 1; step < peers; ++step) { // every rank starts with another peer
    const int peer = (comm_.rank() - step + peers) % peers;
    T *const block = in_place ? *out + to_.place(peer) : buffer + to_.packed[peer] * arrays;
    check_mpi(
        MPI_Irecv(block, to_.counts[peer] * arrays, mpi_type<T>(), peer, tag, comm_.get(), &requests.emplace_back()),
        "MPI_Irecv");
  }
  return buffer;
}

/// Starts one send to each peer: its blocks of all arrays, packed, or the block of a single array where it lies.
template <class T>
void Transpose<T>::send_all(const T *const *in, int arrays, std::vector<MPI_Request> &requests) const {
  const int peers = comm_.size();
  const bool in_place = from_.direct && arrays == 1;
  T *const buffer = in_place ? nullptr : reinterpret_cast<T *>(workspace_->send(bytes(from_, arrays)));
  for (int step = 1; step < peers; ++step) {
    const int peer = (comm_.rank() + step) % peers;
    T *const packed = in_place ? nullptr : buffer + from_.packed[peer] * arrays;
    for (int a = 0; a < arrays && !in_place; ++a)
      pack(from_.blocks[peer], from_.memory, in[a], packed + std::int64_t{a} * from_.counts[peer]);
    check_mpi(MPI_Isend(in_place ? *in + from_.place(peer) : packed, from_.counts[peer] * arrays, mpi_type<T>(), peer,
                        tag, comm_.get(), &requests.emplace_back()),
              "MPI_Isend");
  }
}

template class Transpose<float>;
template class Transpose<double>;
template class Transpose<std::complex<float>>;
template class Transpose<std::complex<double>>;

} // namespace tailrace::grid
