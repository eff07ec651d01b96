#include <tailrace/io/storage/mpi_file.hpp>

#include <tailrace/grid/box_copy.hpp>
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/storage/file_array.hpp>
#include <tailrace/io/storage/writeback.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/file_watch.hpp>
#include <tailrace/support/guarded_call.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <semaphore.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

namespace tailrace::io {

namespace {

/// The most bytes in one call of the library: some counts inside it have 32 bits only.
constexpr std::int64_t collective_bytes = std::int64_t{64} << 20;

const Box one{{0, 0, 0}, {1, 1, 1}};

/// Values are only moved, so only their size matters.
MPI_Datatype item_of(std::int64_t size) {
  switch (size) {
  case 1:
    return MPI_UINT8_T;
  case 2:
    return MPI_UINT16_T;
  case 4:
    return MPI_UINT32_T;
  case 8:
    return MPI_UINT64_T;
  default:
    return MPI_C_DOUBLE_COMPLEX;
  }
}

/// A committed MPI type that frees itself.
class MpiType {
public:
  explicit MpiType(MPI_Datatype type) : type_(type) { check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit"); }
  ~MpiType() { MPI_Type_free(&type_); }
  MpiType(const MpiType &) = delete;
  MpiType &operator=(const MpiType &) = delete;
  MPI_Datatype get() const { return type_; }

private:
  MPI_Datatype type_;
};

/// `count` times `item`, `stride` bytes apart. Takes ownership of `item`. Counts of MPI types are ints; a larger count
/// is composed of several types of the largest count, and a remainder.
MPI_Datatype repeated(std::int64_t count, std::int64_t stride, MPI_Datatype item) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  MPI_Datatype result = MPI_DATATYPE_NULL;
  if (count <= most) {
    check_mpi(MPI_Type_create_hvector(static_cast<int>(count), 1, stride, item, &result), "MPI_Type_create_hvector");
  } else {
    MPI_Datatype full = MPI_DATATYPE_NULL, parts[2];
    check_mpi(MPI_Type_create_hvector(static_cast<int>(most), 1, stride, item, &full), "MPI_Type_create_hvector");
    check_mpi(MPI_Type_create_hvector(static_cast<int>(count / most), 1, most * stride, full, &parts[0]),
              "MPI_Type_create_hvector");
    check_mpi(MPI_Type_create_hvector(static_cast<int>(count % most), 1, stride, item, &parts[1]),
              "MPI_Type_create_hvector");
    const int once[2] = {1, 1};
    const MPI_Aint places[2] = {0, count / most * most * stride};
    check_mpi(MPI_Type_create_struct(2, once, places, parts, &result), "MPI_Type_create_struct");
    for (MPI_Datatype *part : {&full, &parts[0], &parts[1]})
      MPI_Type_free(part);
  }
  MPI_Type_free(&item);
  return result;
}

/// The type that selects `part` of an array over `whole`, relative to the first value of the part.
MPI_Datatype part_type(const Box &whole, const Box &part, std::int64_t size) {
  const std::int64_t stride[3] = {size, size * whole.count[0], size * whole.count[0] * whole.count[1]};
  int d = grid::directions_joined(part, whole);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_dup(item_of(size), &type), "MPI_Type_dup");
  type = repeated(grid::points_in(part, d), size, type);
  for (; d < 3; ++d)
    type = repeated(part.count[d], stride[d], type);
  return type;
}

MPI_Info info_of(const Hints &hints) {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Info_create(&info), "MPI_Info_create");
  for (const auto &[name, value] : hints)
    check_mpi(MPI_Info_set(info, name.c_str(), value.c_str()), "MPI_Info_set");
  return info;
}

/// Throws IoError if this rank cannot open the file, or has no descriptors left for what MPI-IO opens beside it: where
/// one rank alone fails in a collective opening, no rank comes back. Local.
void try_to_open(const std::string &path) {
  constexpr std::size_t at_once = 3; // in Open MPI: the file, a page that the ranks share, and a semaphore
  std::vector<FileDescriptor> held;
  held.emplace_back(path, O_WRONLY | O_NOFOLLOW);
  while (held.size() < at_once) {
    held.emplace_back(::dup(held.front().get()));
    if (!held.back())
      throw file_error("open", path, errno);
  }
}

} // namespace

void release_name([[maybe_unused]] const std::string &path) {
#ifdef OPEN_MPI // a process that has it open keeps it; it protects nothing between programs
  ::sem_unlink(("/OMPIO_" + std::filesystem::path(path).filename().string()).c_str());
#endif
}

void check_length([[maybe_unused]] const std::string &path) {
#ifdef OPEN_MPI
  constexpr std::size_t longest = 255 - std::string_view(".locktest.0").size();
  const char *ways = std::getenv("OMPI_MCA_sharedfp");
  if (path.size() > longest && (!ways || std::string_view(ways) != "^lockedfile"))
    throw IoError(
        fmt::format("cannot open {}: this path has {} characters, and Open MPI's MPI-IO ends a program on more than "
                    "{}. To fix this, choose a shorter one, or set OMPI_MCA_sharedfp=^lockedfile",
                    path, path.size(), longest));
#endif
}

MpiFile::MpiFile(const Communicator &comm, const std::string &path, const Hints &hints, Transfer transfer,
                 double failure_timeout)
    : comm_(comm), path_(path), transfer_(transfer), failure_timeout_(failure_timeout) {
  MPI_Info info = MPI_INFO_NULL;
  comm.agree([&] {
    release_name(path);
    check_length(path);
    if (transfer == Transfer::collective)
      try_to_open(path);
    info = info_of(hints);
  });
  const int code = open(info);
  MPI_Info_free(&info);
  try {
    comm.agree([&] { check(code, "open"); });
  } catch (...) {
    if (transfer == Transfer::independent) // where the others could open it
      close();
    throw;
  }
}

MpiFile::~MpiFile() { close(); }

/// Opens the file, and returns the code of MPI. Each rank alone where it writes alone too: when one of them cannot open
/// it, Open MPI leaves all ranks of a common opening waiting.
int MpiFile::open(MPI_Info info) {
  if (transfer_ == Transfer::independent)
    return MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_WRONLY, info, &file_);
  const FileWatch watch(
      comm_, path_, failure_timeout_ + 1,
      fmt::format("cannot open {}: MPI-IO does not come back, which it does when one rank cannot open the file",
                  path_));
  return MPI_File_open(comm_.get(), path_.c_str(), MPI_MODE_WRONLY, info, &file_);
}

void MpiFile::close() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && file_ != MPI_FILE_NULL)
    MPI_File_close(&file_);
}

void MpiFile::write(std::int64_t offset, const Block &block, bool will_sync) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const std::int64_t most = transfer_ == Transfer::collective ? collective_bytes : piece_bytes;
  std::vector<Box> pieces = pieces_of(block.place.block, most / size);
  if (transfer_ == Transfer::independent)
    return comm_.agree([&] { write_pieces(offset, block, pieces, will_sync); });
  const std::int64_t calls = comm_.max(static_cast<std::int64_t>(pieces.size()));
  pieces.resize(static_cast<std::size_t>(calls)); // a rank that has finished takes part with empty pieces
  guarded_write(comm_, failure_timeout_, "MPI-IO", path_, [&] { write_pieces(offset, block, pieces, false); });
}

void MpiFile::write_pieces(std::int64_t offset, const Block &block, const std::vector<Box> &pieces, bool will_sync) {
  const auto &[shape, part, memory] = block.place;
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const Box whole{{0, 0, 0}, shape};
  // A rank with nothing to write takes part with an empty view.
  const MpiType view(part_type(whole, part.empty() ? one : part, size));
  int code = MPI_File_set_view(file_, part.empty() ? offset : offset + grid::offset_in(whole, part) * size,
                               item_of(size), view.get(), "native", MPI_INFO_NULL);
  const FileDescriptor file = will_sync ? FileDescriptor(path_, O_WRONLY) : FileDescriptor();
  Writeback writeback(will_sync);
  std::int64_t done = 0;
  for (const Box &piece : pieces) {
    const int now = write_piece(done, block, piece);
    code = code == MPI_SUCCESS ? now : code; // go on, because the other ranks do
    done += piece.size();
    if (!piece.empty())
      writeback.wrote(file.get(), offset + grid::offset_in(whole, piece) * size, piece.size() * size);
  }
  if (code != MPI_SUCCESS && !part.empty()) { // MPI does not say why, but the system does when asked for all of it
    Block again = block;
    again.checksum = nullptr;
    write_block(FileDescriptor(path_, O_WRONLY).get(), path_, offset, whole, again);
  }
  check(code, "write");
}

/// Writes a piece of a block at value `place` of the view; an empty piece only takes part. Returns the code of MPI.
int MpiFile::write_piece(std::int64_t place, const Block &block, const Box &piece) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const Box &memory = block.place.memory;
  const char *from = static_cast<const char *>(block.data);
  if (!piece.empty())
    from += grid::offset_in(memory, piece) * size;
  if (!piece.empty() && block.checksum)
    add_block(*block.checksum, {block.place.shape, piece, memory}, size_of(block.type), block.data);
  const int count = piece.empty() ? 0 : 1;
  const MpiType type(count ? part_type(memory, piece, size) : part_type(one, one, size));
  MPI_Status status;
  const int code = transfer_ == Transfer::collective
                       ? MPI_File_write_at_all(file_, place, from, count, type.get(), &status)
                       : MPI_File_write_at(file_, place, from, count, type.get(), &status);
  if (code != MPI_SUCCESS || count == 0)
    return code;
  MPI_Count written = 0; // Open MPI reports success for a write that a full disk cut short
  MPI_Get_elements_x(&status, item_of(size), &written);
  return written == piece.size() ? MPI_SUCCESS : MPI_ERR_IO;
}

void MpiFile::sync() {
  const int code = MPI_File_sync(file_);
  comm_.agree([&] { check(code, "sync"); });
}

Hints MpiFile::hints() const {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_File_get_info(file_, &info), "ask for the hints of");
  Hints result;
  int keys = 0;
  if (info != MPI_INFO_NULL)
    MPI_Info_get_nkeys(info, &keys);
  for (int key = 0; key < keys; ++key) {
    char name[MPI_MAX_INFO_KEY + 1] = {}, value[MPI_MAX_INFO_VAL + 1] = {};
    int there = 0;
    MPI_Info_get_nthkey(info, key, name);
    MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &there);
    if (there)
      result[name] = value;
  }
  if (info != MPI_INFO_NULL)
    MPI_Info_free(&info);
  return result;
}

void MpiFile::check(int code, const char *verb) const {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw IoError(fmt::format("cannot {} {} by MPI-IO: {}", verb, path_, std::string_view(text, length)));
}

} // namespace tailrace::io
