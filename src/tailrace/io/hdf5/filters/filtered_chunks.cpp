#include <tailrace/io/hdf5/filters/filtered_chunks.hpp>

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
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

/// The chunks of a variable and the ranks that own them; the same on all ranks.
class ChunkGrid {
public:
  ChunkGrid(const Communicator &comm, const Placement &place, const Index3 &chunk, std::int64_t size)
      : rank_(comm.rank()), size_(size), shape_(place.shape), chunk_(chunk),
        blocks_(static_cast<std::size_t>(comm.size())), owned_(blocks_.size()) {
    static_assert(sizeof(Box) == 6 * sizeof(std::int64_t));
    check_mpi(MPI_Allgather(&place.block, 6, MPI_INT64_T, blocks_.data(), 6, MPI_INT64_T, comm.get()), "MPI_Allgather");
    for (std::int64_t k = 0; k < shape_[2]; k += chunk[2])
      for (std::int64_t j = 0; j < shape_[1]; j += chunk[1])
        for (std::int64_t i = 0; i < shape_[0]; i += chunk[0])
          owned_[owner({i, j, k})].push_back({i, j, k});
    per_round_ = std::max<std::size_t>(1, static_cast<std::size_t>(round_bytes / (product(chunk) * size)));
    for (const auto &mine : owned_)
      rounds_ = std::max(rounds_, (mine.size() + per_round_ - 1) / per_round_);
  }

  std::size_t rounds() const { return rounds_; }

  /// The whole chunks of a rank in a round: at the upper ends they may reach beyond the variable.
  std::vector<Box> chunks(std::size_t rank, std::size_t round) const {
    std::vector<Box> result;
    const auto &all = owned_[rank];
    for (std::size_t c = round * per_round_; c < std::min(all.size(), (round + 1) * per_round_); ++c)
      result.push_back({all[c], chunk_});
    return result;
  }

  /// Collects this rank's chunks of a round: their values, and zeros beyond the variable.
  std::vector<std::vector<char>> exchange(const Communicator &comm, const Block &block, std::size_t round) const;

private:
  std::size_t owner(const Index3 &point) const {
    for (std::size_t rank = 0; rank < blocks_.size(); ++rank)
      if (blocks_[rank].contains({point, {1, 1, 1}}))
        return rank;
    return 0; // Series has checked that there is one
  }
  std::size_t bytes(const Box &box) const { return static_cast<std::size_t>(box.size() * size_); }

  int rank_;
  std::int64_t size_;
  Index3 shape_, chunk_;
  std::vector<Box> blocks_;
  std::vector<std::vector<Index3>> owned_; ///< first points of the chunks, by rank
  std::size_t per_round_ = 1, rounds_ = 0;
};

/// Messages that are being sent and received.
class Messages {
public:
  explicit Messages(MPI_Comm comm) : comm_(comm) {}
  void send(const std::vector<char> &buffer, std::size_t rank, std::size_t tag) {
    check_mpi(MPI_Isend(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, static_cast<int>(rank),
                        static_cast<int>(tag), comm_, &requests_.emplace_back()),
              "MPI_Isend");
  }
  void receive(std::vector<char> &buffer, std::size_t rank, std::size_t tag) {
    check_mpi(MPI_Irecv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, static_cast<int>(rank),
                        static_cast<int>(tag), comm_, &requests_.emplace_back()),
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
    std::size_t chunk;
    Box box;
    std::vector<char> bytes;
  };
  const Box ours = block.place.block, memory = block.place.memory;
  const char *data = static_cast<const char *>(block.data);
  const std::size_t self = static_cast<std::size_t>(rank_);
  const auto mine = chunks(self, round);
  std::vector<std::vector<char>> values(mine.size());
  std::vector<Part> coming, going;
  std::vector<std::size_t> from, to;
  comm.agree([&] { // all the memory that is needed
    for (std::size_t c = 0; c < mine.size(); ++c) {
      values[c].assign(bytes(mine[c]), 0);
      for (std::size_t rank = 0; rank < blocks_.size(); ++rank)
        if (const Box part = mine[c].intersect(blocks_[rank]); rank != self && !part.empty()) {
          coming.push_back({c, part, std::vector<char>(bytes(part))});
          from.push_back(rank);
        }
    }
    for (std::size_t rank = 0; rank < blocks_.size(); ++rank) {
      const auto theirs = chunks(rank, round);
      for (std::size_t c = 0; c < theirs.size() && rank != self; ++c)
        if (const Box part = theirs[c].intersect(ours); !part.empty()) {
          going.push_back({c, part, std::vector<char>(bytes(part))});
          grid::copy_part(part, static_cast<std::size_t>(size_), memory, data, part, going.back().bytes.data());
          to.push_back(rank);
        }
    }
  });
  Messages messages(comm.get());
  for (std::size_t m = 0; m < coming.size(); ++m)
    messages.receive(coming[m].bytes, from[m], coming[m].chunk);
  for (std::size_t m = 0; m < going.size(); ++m)
    messages.send(going[m].bytes, to[m], going[m].chunk);
  for (std::size_t c = 0; c < mine.size(); ++c)
    if (const Box part = mine[c].intersect(ours); !part.empty())
      grid::copy_part(part, static_cast<std::size_t>(size_), memory, data, mine[c], values[c].data());
  messages.wait();
  for (const auto &part : coming)
    grid::copy_part(part.box, static_cast<std::size_t>(size_), part.box, part.bytes.data(), mine[part.chunk],
                    values[part.chunk].data());
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
    const auto mine = grid.chunks(static_cast<std::size_t>(comm.rank()), round);
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
