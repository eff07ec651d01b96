#include <tailrace/io/hdf5/filters/filtered_chunks.hpp>

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/sparse_exchange.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tailrace::io {

namespace {

constexpr std::int64_t round_bytes = std::int64_t{32} << 20;

/// A chunk in the form in which HDF5 stores it.
struct Packed {
  Index3 start{0, 0, 0};
  std::uint32_t left_out = 0; ///< filters that were not applied, as bits
  std::vector<char> bytes;
};

/// Applies the filters of a dataset to chunks by letting HDF5 write them to a file in memory, so that every filter of
/// the library can be used. Local.
class Packer {
public:
  Packer(const std::string &creation, Type type) : type_(h5::type(type)) {
    creation_ = h5::Handle(h5::check(H5Pdecode(creation.data()), "decode how a dataset was made"), H5Pclose);
    if (H5Pget_chunk(creation_, 4, chunk_) != 4)
      throw IoError("a dataset has no chunks of four dimensions");
    const h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access, std::size_t{1} << 20, false);
    file_ = h5::Handle(h5::check(H5Fcreate("chunks", H5F_ACC_TRUNC, H5P_DEFAULT, access), "make a file in memory"),
                       H5Fclose);
  }

  Index3 shape() const {
    const auto n = [&](int d) { return static_cast<std::int64_t>(chunk_[d]); };
    return {n(3), n(2), n(1)};
  }

  Packed pack(const Index3 &start, const std::vector<char> &values) {
    const h5::Handle space(H5Screate_simple(4, chunk_, nullptr), H5Sclose),
        access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    H5Pset_chunk_cache(access, 0, 0, 1); // so that filters are applied at once
    Packed packed{start, 0, {}};
    {
      const h5::Handle data(
          h5::check(H5Dcreate2(file_, "chunk", type_, space, H5P_DEFAULT, creation_, access), "make a chunk in memory"),
          H5Dclose);
      h5::check(H5Dwrite(data, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "compress a chunk");
      const hsize_t first[4] = {0, 0, 0, 0};
      hsize_t bytes = 0;
      h5::check(H5Dget_chunk_storage_size(data, first, &bytes), "compress a chunk");
      packed.bytes.resize(bytes);
      h5::check(H5Dread_chunk(data, H5P_DEFAULT, first, &packed.left_out, packed.bytes.data()), "compress a chunk");
    }
    h5::check(H5Ldelete(file_, "chunk", H5P_DEFAULT), "drop a chunk in memory");
    return packed;
  }

private:
  hid_t type_;
  h5::Handle creation_, file_;
  hsize_t chunk_[4] = {0, 0, 0, 0};
};

/// The chunks that this rank owns, those of which the first point is in its block, and what it exchanges with others
/// to fill them. Who owns a chunk that several blocks share is told by another rank, where the owner has put it down:
/// no rank knows the blocks of all.
class ChunkGrid {
public:
  /// Collective.
  ChunkGrid(const Communicator &comm, const Placement &place, const Index3 &chunk, std::int64_t size);

  std::size_t rounds() const { return rounds_; }

  /// This rank's whole chunks of a round: at the upper ends they may reach beyond the variable.
  std::vector<Box> chunks(std::size_t round) const {
    std::vector<Box> result;
    for (std::size_t c = round * per_round_; c < std::min(owned_.size(), (round + 1) * per_round_); ++c)
      result.push_back(chunk_at(owned_[c]));
    return result;
  }

  /// Collects this rank's chunks of a round: their values, and zeros beyond the variable.
  std::vector<std::vector<char>> exchange(const Communicator &comm, const Block &block, std::size_t round) const;

private:
  /// What a rank tells of a chunk that it shares, and what it is told of it.
  struct Share {
    std::int64_t chunk = 0; ///< its number
    int rank = -1;          ///< the other one
    int own = 0;            ///< whether the rank that tells owns the chunk
    std::int64_t place = 0; ///< of the chunk among those of its owner
    Box part;               ///< the points of the chunk that the rank has which does not own it
  };
  Index3 first_point(std::int64_t chunk) const {
    return {chunk % count_[0] * chunk_[0], chunk / count_[0] % count_[1] * chunk_[1],
            chunk / (count_[0] * count_[1]) * chunk_[2]};
  }
  Box chunk_at(std::int64_t chunk) const { return {first_point(chunk), chunk_}; }
  void list_chunks(const Box &ours);
  void meet(const Communicator &comm, const Box &ours);
  std::size_t bytes(const Box &box) const { return static_cast<std::size_t>(box.size() * size_); }

  std::int64_t size_;
  Index3 shape_, chunk_, count_;              ///< of points, of points in a chunk, of chunks
  std::vector<std::int64_t> owned_, foreign_; ///< numbers of chunks that have points of this rank's block
  std::vector<Share> coming_, going_;
  std::size_t per_round_ = 1, rounds_ = 0;
};

ChunkGrid::ChunkGrid(const Communicator &comm, const Placement &place, const Index3 &chunk, std::int64_t size)
    : size_(size), shape_(place.shape), chunk_(chunk) {
  for (std::size_t d = 0; d < 3; ++d)
    count_[d] = (shape_[d] + chunk[d] - 1) / chunk[d];
  list_chunks(place.block);
  meet(comm, place.block);
  per_round_ = std::max<std::size_t>(1, static_cast<std::size_t>(round_bytes / (product(chunk) * size)));
  rounds_ =
      static_cast<std::size_t>(comm.max(static_cast<std::int64_t>((owned_.size() + per_round_ - 1) / per_round_)));
}

/// Lists the chunks with points of this rank's block.
void ChunkGrid::list_chunks(const Box &ours) {
  if (ours.empty())
    return;
  Index3 low, high;
  for (int d = 0; d < 3; ++d)
    low[d] = ours.start[d] / chunk_[d], high[d] = (ours.end(d) - 1) / chunk_[d];
  for (std::int64_t k = low[2]; k <= high[2]; ++k)
    for (std::int64_t j = low[1]; j <= high[1]; ++j)
      for (std::int64_t i = low[0]; i <= high[0]; ++i) {
        const std::int64_t number = (k * count_[1] + j) * count_[0] + i;
        (ours.contains({first_point(number), {1, 1, 1}}) ? owned_ : foreign_).push_back(number);
      }
}

/// Finds out with whom this rank shares chunks. Collective.
void ChunkGrid::meet(const Communicator &comm, const Box &ours) {
  const std::int64_t each = std::max<std::int64_t>(1, (product(count_) + comm.size() - 1) / comm.size());
  std::map<int, std::vector<Share>> told, answers;
  const auto tell = [&](const Share &share) { told[static_cast<int>(share.chunk / each)].push_back(share); };
  const Box whole{{0, 0, 0}, shape_};
  for (std::size_t at = 0; at < owned_.size(); ++at)
    if (!ours.contains(chunk_at(owned_[at]).intersect(whole)))
      tell({owned_[at], comm.rank(), true, static_cast<std::int64_t>(at), {}});
  for (const std::int64_t number : foreign_)
    tell({number, comm.rank(), false, 0, chunk_at(number).intersect(ours)});
  std::map<std::int64_t, Share> owners;
  const auto known = exchange_sparse(comm, told);
  for (const auto &[rank, shares] : known)
    for (const Share &share : shares)
      if (share.own)
        owners[share.chunk] = share;
  comm.agree([&] {
    for (const auto &[rank, shares] : known)
      for (Share share : shares)
        if (!share.own) {
          const auto owner = owners.find(share.chunk);
          if (owner == owners.end()) {
            const Index3 point = first_point(share.chunk);
            throw InputError(fmt::format("no rank has the point (x, y, z) = ({}, {}, {}): the blocks of the ranks must "
                                         "fill the whole array",
                                         point[0], point[1], point[2]));
          }
          share.place = owner->second.place;
          answers[owner->second.rank].push_back(share);
          share.rank = owner->second.rank, share.own = true;
          answers[rank].push_back(share);
        }
  });
  for (const auto &[rank, shares] : exchange_sparse(comm, answers))
    for (const Share &share : shares)
      (share.own ? going_ : coming_).push_back(share);
}

/// Messages that are being sent and received.
class Messages {
public:
  explicit Messages(MPI_Comm comm) : comm_(comm) {}
  void send(const std::vector<char> &buffer, int rank, std::size_t tag) {
    check_mpi(MPI_Isend(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, rank, static_cast<int>(tag), comm_,
                        &requests_.emplace_back()),
              "MPI_Isend");
  }
  void receive(std::vector<char> &buffer, int rank, std::size_t tag) {
    check_mpi(MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, rank, static_cast<int>(tag), comm_,
                        &requests_.emplace_back()),
              "MPI_Irecv");
  }
  void wait() {
    check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

private:
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

std::vector<std::vector<char>> ChunkGrid::exchange(const Communicator &comm, const Block &block,
                                                   std::size_t round) const {
  struct Part {
    Share share;
    std::size_t chunk; ///< of the round
    std::vector<char> bytes;
  };
  const Box ours = block.place.block, memory = block.place.memory;
  const char *data = static_cast<const char *>(block.data);
  const auto mine = chunks(round);
  std::vector<std::vector<char>> values(mine.size());
  std::vector<Part> coming, going;
  comm.agree([&] { // all the memory that is needed
    for (std::size_t c = 0; c < mine.size(); ++c)
      values[c].assign(bytes(mine[c]), 0);
    for (const auto &[shares, parts] : {std::pair(&coming_, &coming), std::pair(&going_, &going)})
      for (const Share &share : *shares)
        if (const auto place = static_cast<std::size_t>(share.place); place / per_round_ == round)
          parts->push_back({share, place % per_round_, std::vector<char>(bytes(share.part))});
    for (auto &[share, chunk, part] : going)
      grid::copy_part(share.part, static_cast<std::size_t>(size_), memory, data, share.part, part.data());
  });
  Messages messages(comm.get());
  for (auto &[share, chunk, part] : coming)
    messages.receive(part, share.rank, chunk);
  for (const auto &[share, chunk, part] : going)
    messages.send(part, share.rank, chunk);
  for (std::size_t c = 0; c < mine.size(); ++c)
    if (const Box part = mine[c].intersect(ours); !part.empty())
      grid::copy_part(part, static_cast<std::size_t>(size_), memory, data, mine[c], values[c].data());
  messages.wait();
  for (const auto &[share, chunk, part] : coming)
    grid::copy_part(share.part, static_cast<std::size_t>(size_), share.part, part.data(), mine[chunk],
                    values[chunk].data());
  return values;
}

/// Chunks as text, one after another: start, filters that were not applied, size, bytes.
std::vector<char> flatten(const std::vector<Packed> &chunks) {
  std::vector<char> text;
  for (const auto &[start, left_out, bytes] : chunks) {
    const std::int64_t head[5] = {start[0], start[1], start[2], left_out, static_cast<std::int64_t>(bytes.size())};
    const char *begin = reinterpret_cast<const char *>(head);
    text.insert(text.end(), begin, begin + sizeof head);
    text.insert(text.end(), bytes.begin(), bytes.end());
  }
  return text;
}

void store(const std::vector<char> &text, hid_t dataset, std::int64_t row, const std::string &path) {
  const auto u = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t head[5];
    std::memcpy(head, text.data() + at, sizeof head);
    at += sizeof head;
    const hsize_t offset[4] = {u(row), u(head[2]), u(head[1]), u(head[0])};
    h5::check(H5Dwrite_chunk(dataset, H5P_DEFAULT, static_cast<std::uint32_t>(head[3]), offset,
                             static_cast<std::size_t>(head[4]), text.data() + at),
              "write " + path);
    at += static_cast<std::size_t>(head[4]);
  }
}

/// Sends the chunks of all ranks to rank 0, in the order of the ranks, and stores them there.
void store_all(const Communicator &comm, std::vector<char> ours, hid_t dataset, std::int64_t row,
               const std::string &path) {
  constexpr int tag = 0;
  std::int64_t size = static_cast<std::int64_t>(ours.size());
  if (comm.rank() != 0) {
    check_mpi(MPI_Send(&size, 1, MPI_INT64_T, 0, tag, comm.get()), "MPI_Send");
    check_mpi(MPI_Send(ours.data(), static_cast<int>(size), MPI_BYTE, 0, tag, comm.get()), "MPI_Send");
  }
  comm.agree([&] {
    std::optional<IoError> failure; // after it, what was sent must still be received
    for (int rank = 0; comm.rank() == 0 && rank < comm.size(); ++rank) {
      if (rank > 0) {
        check_mpi(MPI_Recv(&size, 1, MPI_INT64_T, rank, tag, comm.get(), MPI_STATUS_IGNORE), "MPI_Recv");
        ours.resize(static_cast<std::size_t>(size));
        check_mpi(MPI_Recv(ours.data(), static_cast<int>(size), MPI_BYTE, rank, tag, comm.get(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
      }
      try {
        if (!failure)
          store(ours, dataset, row, path);
      } catch (const IoError &error) {
        failure = error;
      }
    }
    if (failure)
      throw IoError(*failure);
  });
}

} // namespace

std::string encode_creation(hid_t dataset) {
  const h5::Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  std::size_t size = 0;
#if H5_VERSION_GE(1, 12, 0)
  const auto encode = [&](void *text) { return H5Pencode2(creation, text, &size, H5P_DEFAULT); };
#else
  const auto encode = [&](void *text) { return H5Pencode(creation, text, &size); };
#endif
  h5::check(encode(nullptr), "encode how a dataset was made");
  std::string text(size, '\0');
  h5::check(encode(text.data()), "encode how a dataset was made");
  return text;
}

void write_through_filters(const Communicator &comm, const Block &block, const std::string &creation, hid_t dataset,
                           std::int64_t row, const std::string &path, Trace &trace) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  std::optional<Packer> packer;
  comm.agree([&] {
    packer.emplace(creation, block.type);
    if (product(packer->shape()) * size > std::numeric_limits<int>::max() / 2)
      throw IoError(fmt::format("cannot write {}: its chunks are larger than 1 GiB, and go through filters", path));
    if (block.checksum) {
      const Span span(trace, Phase::checksum);
      add_block(*block.checksum, block.place, size_of(block.type), block.data);
    }
  });
  const ChunkGrid grid(comm, block.place, packer->shape(), size);
  for (std::size_t round = 0; round < grid.rounds(); ++round) {
    const auto mine = grid.chunks(round);
    std::vector<std::vector<char>> values;
    {
      const Span span(trace, Phase::aggregate);
      values = grid.exchange(comm, block, round);
    }
    std::vector<char> packed;
    comm.agree([&] {
      const Span span(trace, Phase::convert);
      std::vector<Packed> chunks;
      for (std::size_t c = 0; c < mine.size(); ++c)
        chunks.push_back(packer->pack(mine[c].start, values[c]));
      packed = flatten(chunks);
    });
    const Span span(trace, Phase::write, static_cast<std::int64_t>(packed.size()));
    store_all(comm, std::move(packed), dataset, row, path);
  }
}

} // namespace tailrace::io
