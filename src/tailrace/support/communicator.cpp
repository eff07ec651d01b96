#include <tailrace/support/communicator.hpp>

#include <tailrace/support/build_info.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <filesystem>
#include <numeric>
#include <thread>

namespace tailrace {

void check_mpi(int code, const char *what) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(fmt::format("{} failed: {}", what, std::string_view(text, length)));
}

template <> MPI_Datatype mpi_type<float>() { return MPI_FLOAT; }
template <> MPI_Datatype mpi_type<double>() { return MPI_DOUBLE; }
template <> MPI_Datatype mpi_type<std::complex<float>>() { return MPI_C_FLOAT_COMPLEX; }
template <> MPI_Datatype mpi_type<std::complex<double>>() { return MPI_C_DOUBLE_COMPLEX; }
template <> MPI_Datatype mpi_type<std::int32_t>() { return MPI_INT32_T; }
template <> MPI_Datatype mpi_type<std::int64_t>() { return MPI_INT64_T; }

namespace {

void free_comm(MPI_Comm *comm) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  // Python may delete this object after MPI_Finalize, which has freed the communicator already.
  if (!finalized && *comm != MPI_COMM_NULL)
    MPI_Comm_free(comm);
  delete comm;
}

enum class Failure : int { none = 0, input = 1, io = 2, other = 3 };

[[noreturn]] void rethrow(Failure kind, const std::string &text) {
  switch (kind) {
  case Failure::input:
    throw InputError(text);
  case Failure::io:
    throw IoError(text);
  default:
    throw Error(text);
  }
}

} // namespace

Communicator::Communicator(MPI_Comm comm, bool) : comm_(new MPI_Comm(comm), free_comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &size_);
}

namespace {
MPI_Comm duplicate(MPI_Comm parent) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(parent, &copy), "MPI_Comm_dup");
  return copy;
}
} // namespace

Communicator::Communicator(MPI_Comm parent) : Communicator(duplicate(parent), true) {}

Communicator Communicator::from_fortran(MPI_Fint handle) {
  int started = 0;
  MPI_Initialized(&started); // not by an mpi4py that has another MPI, whose handles mean nothing here
  if (started == 0)
    throw Error(
        "MPI is not started: call MPI_Init first. In Python, mpi4py must have the MPI that Tailrace was built "
        "with, " +
        build_info().at("mpi") +
        ", and has another one; to fix this, build it: pip install --no-binary mpi4py --force-reinstall mpi4py");
  return Communicator(MPI_Comm_f2c(handle));
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(get(), color, key, &part), "MPI_Comm_split");
  return Communicator(part, true);
}

Communicator Communicator::split_node() const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(get(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part), "MPI_Comm_split_type");
  return Communicator(part, true);
}

void Communicator::barrier() const { check_mpi(MPI_Barrier(get()), "MPI_Barrier"); }

namespace {
template <class T> T reduce(MPI_Comm comm, T value, MPI_Op op) {
  T result{};
  check_mpi(MPI_Allreduce(&value, &result, 1, mpi_type<T>(), op, comm), "MPI_Allreduce");
  return result;
}
template <class T> void reduce_all(MPI_Comm comm, std::span<T> values, MPI_Op op) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), mpi_type<T>(), op, comm),
            "MPI_Allreduce");
}
} // namespace

double Communicator::sum(double value) const { return reduce(get(), value, MPI_SUM); }
void Communicator::sum(std::span<std::int64_t> values) const { reduce_all(get(), values, MPI_SUM); }
void Communicator::sum(std::span<double> values) const { reduce_all(get(), values, MPI_SUM); }
void Communicator::max(std::span<std::int64_t> values) const { reduce_all(get(), values, MPI_MAX); }
double Communicator::max(double value) const { return reduce(get(), value, MPI_MAX); }
std::int64_t Communicator::sum(std::int64_t value) const { return reduce(get(), value, MPI_SUM); }
std::int64_t Communicator::max(std::int64_t value) const { return reduce(get(), value, MPI_MAX); }

namespace {

void combine_tallies(void *from, void *into, int *count, MPI_Datatype *) {
  const auto *ours = static_cast<const Tally *>(from);
  auto *result = static_cast<Tally *>(into);
  for (int i = 0; i < *count; ++i)
    for (std::size_t n = 0; n < ours[i].largest.size(); ++n) {
      result[i].largest[n] = std::max(result[i].largest[n], ours[i].largest[n]);
      result[i].sum[n] += ours[i].sum[n];
    }
}

/// MPI's description of a Tally, which it must not cut in pieces, and of what is done with two of them. They live as
/// long as the process: there is one of each.
struct TallyReduction {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  TallyReduction() {
    check_mpi(MPI_Type_contiguous(sizeof(Tally) / sizeof(std::int64_t), MPI_INT64_T, &type), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    check_mpi(MPI_Op_create(combine_tallies, 1, &operation), "MPI_Op_create");
  }
};

} // namespace

void Communicator::combine(Tally &tally) const {
  static const TallyReduction reduction;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &tally, 1, reduction.type, reduction.operation, get()), "MPI_Allreduce");
}

std::int64_t Communicator::exclusive_scan(std::int64_t value) const {
  std::int64_t below = 0;
  check_mpi(MPI_Exscan(&value, &below, 1, MPI_INT64_T, MPI_SUM, get()), "MPI_Exscan");
  return rank_ == 0 ? 0 : below;
}

void Communicator::broadcast_bytes(std::span<std::byte> bytes, int root) const {
  constexpr std::size_t most = std::size_t{1} << 30; // MPI counts with ints
  do {
    const auto now = bytes.first(std::min(most, bytes.size()));
    check_mpi(MPI_Bcast(now.data(), static_cast<int>(now.size()), MPI_BYTE, root, get()), "MPI_Bcast");
    bytes = bytes.subspan(now.size());
  } while (!bytes.empty());
}

std::string Communicator::broadcast(std::string text, int root) const {
  text.resize(static_cast<std::size_t>(broadcast_value(static_cast<std::int64_t>(text.size()), root)));
  broadcast(std::span<char>(text), root);
  return text;
}

std::int64_t Communicator::broadcast_patiently(std::int64_t value, int root) const {
  constexpr std::chrono::microseconds shortest{20}, longest{2000};
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibcast(&value, 1, MPI_INT64_T, root, get(), &request), "MPI_Ibcast");
  int there = 0;
  for (auto pause = shortest;; pause = std::min(2 * pause, longest)) {
    check_mpi(MPI_Test(&request, &there, MPI_STATUS_IGNORE), "MPI_Test");
    if (there != 0)
      return value;
    std::this_thread::sleep_for(pause);
  }
}

namespace {

/// MPI counts with ints: texts that may be long together are sent in pieces of so many bytes, the last one filled up.
constexpr std::size_t piece = 64;
int pieces_of(std::size_t bytes) { return static_cast<int>((bytes + piece - 1) / piece); }

struct PieceType {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PieceType() {
    check_mpi(MPI_Type_contiguous(piece, MPI_CHAR, &type), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
  }
};
MPI_Datatype piece_type() {
  static const PieceType made; // lives as long as the process
  return made.type;
}

/// Lengths of texts, and where each begins when they lie one after another.
struct Pieces {
  std::vector<int> counts, starts;
  std::size_t total = 0;
  explicit Pieces(const std::vector<std::int64_t> &lengths) : counts(lengths.size()), starts(lengths.size()) {
    std::transform(lengths.begin(), lengths.end(), counts.begin(),
                   [](std::int64_t length) { return pieces_of(static_cast<std::size_t>(length)); });
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
    total = counts.empty() ? 0 : piece * static_cast<std::size_t>(starts.back() + counts.back());
  }
  std::size_t begin(std::size_t rank) const { return piece * static_cast<std::size_t>(starts[rank]); }
};

} // namespace

std::vector<std::string> Communicator::gather(const std::string &text, int root) const {
  const auto length = static_cast<std::int64_t>(text.size());
  std::vector<std::int64_t> lengths(rank_ == root ? size_ : 0);
  check_mpi(MPI_Gather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, root, get()), "MPI_Gather");
  const Pieces pieces(lengths);
  std::string ours = text, all(pieces.total, '\0');
  ours.resize(piece * static_cast<std::size_t>(pieces_of(text.size())));
  check_mpi(MPI_Gatherv(ours.data(), pieces_of(text.size()), piece_type(), all.data(), pieces.counts.data(),
                        pieces.starts.data(), piece_type(), root, get()),
            "MPI_Gatherv");
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < lengths.size(); ++r)
    texts.push_back(all.substr(pieces.begin(r), static_cast<std::size_t>(lengths[r])));
  return texts;
}

std::string Communicator::scatter(const std::vector<std::string> &texts, int root) const {
  std::vector<std::int64_t> lengths(rank_ == root ? texts.size() : 0);
  for (std::size_t r = 0; r < lengths.size(); ++r)
    lengths[r] = static_cast<std::int64_t>(texts[r].size());
  std::int64_t length = 0;
  check_mpi(MPI_Scatter(lengths.data(), 1, MPI_INT64_T, &length, 1, MPI_INT64_T, root, get()), "MPI_Scatter");
  const Pieces pieces(lengths);
  std::string all(pieces.total, '\0');
  for (std::size_t r = 0; r < lengths.size(); ++r)
    texts[r].copy(all.data() + pieces.begin(r), texts[r].size());
  const int count = pieces_of(static_cast<std::size_t>(length));
  std::string ours(piece * static_cast<std::size_t>(count), '\0');
  check_mpi(MPI_Scatterv(all.data(), pieces.counts.data(), pieces.starts.data(), piece_type(), ours.data(), count,
                         piece_type(), root, get()),
            "MPI_Scatterv");
  ours.resize(static_cast<std::size_t>(length));
  return ours;
}

namespace {

/// Runs `work` and returns how it ended; puts the text of an error into `text`.
Failure outcome(const std::function<void()> &work, std::string &text) {
  try {
    work();
    return Failure::none;
  } catch (const InputError &error) {
    text = error.what();
    return Failure::input;
  } catch (const IoError &error) {
    text = error.what();
    return Failure::io;
  } catch (const std::filesystem::filesystem_error &error) {
    text = file_error(error).what();
    return Failure::io;
  } catch (const std::exception &error) {
    text = error.what();
  } catch (...) {
    text = "something that is no std::exception was thrown";
  }
  return Failure::other;
}

/// Adds the rank that failed. An error that comes from an inner `agree` has it already.
std::string with_rank(const std::string &text, int rank, int size) {
  const bool told = text.ends_with(')') && text.rfind(" (on rank ") != std::string::npos;
  return size > 1 && !told ? fmt::format("{} (on rank {})", text, rank) : text;
}

} // namespace

void Communicator::agree(const std::function<void()> &work) const {
  std::string text;
  const Failure kind = outcome(work, text);
  const std::int64_t lowest = -max(kind == Failure::none ? -std::int64_t{size_} : -std::int64_t{rank_});
  if (lowest == size_)
    return;
  const int first = static_cast<int>(lowest);
  const Failure shared = broadcast_value(kind, first);
  text = broadcast(text, first);
  rethrow(shared, with_rank(text, first, size_));
}

std::string Communicator::from_root(const std::function<std::string()> &work) const {
  struct {
    std::int32_t kind = 0, length = 0;
    char begin[1016];
  } message;
  std::string text;
  if (rank_ == 0) {
    message.kind = static_cast<std::int32_t>(outcome([&] { text = work(); }, text));
    message.length = static_cast<std::int32_t>(text.size());
    text.copy(message.begin, sizeof message.begin);
  }
  broadcast(std::span(&message, 1), 0);
  if (static_cast<std::size_t>(message.length) <= sizeof message.begin) {
    text.assign(message.begin, static_cast<std::size_t>(message.length));
  } else {
    text.resize(static_cast<std::size_t>(message.length));
    broadcast(std::span<char>(text), 0);
  }
  if (const auto kind = static_cast<Failure>(message.kind); kind != Failure::none)
    rethrow(kind, with_rank(text, 0, size_));
  return text;
}

} // namespace tailrace
