#include <tailrace/io/hdf5/journal/journaled_driver.hpp>

#include <tailrace/io/hdf5/journal/held_bytes.hpp>
#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <H5FDpublic.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace tailrace::io::h5 {

namespace {

constexpr std::int64_t large_bytes = std::int64_t{64} << 10; // new data of this size or more are not copied
constexpr std::size_t most_known = std::size_t{1} << 20;     // bytes of what the file has, kept from step to step

/// An open file as HDF5 sees it: HDF5's struct, followed by our data.
struct Driver : H5FD_t {
  Driver(const std::string &file_path, int flags) : H5FD_t{}, path(file_path), file(file_path, flags) {
    size = stored_size();
  }
  std::int64_t stored_size() const {
    struct stat info{};
    if (::fstat(file.get(), &info) != 0)
      throw file_error("read", path, errno);
    return info.st_size;
  }
  std::int64_t readable_size() const { return std::min(stored_size(), shown); }
  /// Lays the old bytes over the file.
  void show(const SavedState &saved) {
    size = shown = saved.end;
    for (const auto &[begin, piece] : saved.pieces)
      held.put(begin, piece.before.data(), static_cast<std::int64_t>(piece.before.size()));
  }
  void resize(std::int64_t bytes) {
    if (stored_size() != bytes && ::ftruncate(file.get(), bytes) != 0)
      throw file_error("write", path, errno);
    size = bytes;
  }

  std::string path;
  FileDescriptor file;
  HeldBytes held;
  HeldBytes known;                                               ///< what the file has where HDF5 wrote lately
  std::int64_t size = 0;                                         ///< of the file, including what is held
  std::int64_t end = 0;                                          ///< of the file, without what is held
  std::int64_t allocated = 0;                                    ///< what HDF5 says the size is
  std::int64_t shown = std::numeric_limits<std::int64_t>::max(); ///< how much of the file HDF5 may see
  ChunkTree *tree = nullptr;                                     ///< the one that HDF5 is reading as a whole
  StoredChunk *sought = nullptr;                                 ///< takes the place of data in place of the data
  bool discarded = false;
  mutable std::string failure; ///< why the system has not read a part of the file; HDF5 does not always tell
};

Driver &driver(H5FD_t *file) { return *static_cast<Driver *>(file); }
const Driver &driver(const H5FD_t *file) { return *static_cast<const Driver *>(file); }

/// Runs `work` for HDF5, which has no exceptions: an exception becomes an entry of HDF5's error stack.
template <class Work> bool guarded(hid_t kind, Work work) {
  try {
    work();
    return true;
  } catch (const std::exception &error) {
    H5Epush2(H5E_DEFAULT, __FILE__, "tailrace", __LINE__, H5E_ERR_CLS, H5E_VFL, kind, "%s", error.what());
    return false;
  }
}

/// What a property list tells the driver.
struct Settings {
  const SavedState *saved;
};

H5FD_t *open(const char *path, unsigned flags, hid_t access, haddr_t) {
  Driver *made = nullptr;
  const int how = (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY) | (flags & H5F_ACC_CREAT ? O_CREAT : 0) |
                  (flags & H5F_ACC_TRUNC ? O_TRUNC : 0);
  const auto *settings = static_cast<const Settings *>(H5Pget_driver_info(access));
  guarded(H5E_CANTOPENFILE, [&] {
    made = new Driver(path, how);
    if (settings != nullptr && settings->saved != nullptr)
      made->show(*settings->saved);
  });
  return made;
}

herr_t close(H5FD_t *file) {
  delete &driver(file);
  return 0;
}

herr_t query(const H5FD_t *, unsigned long *flags) {
  // Do not aggregate small data: their blocks would lie in space of earlier steps, which a rank must not write to.
  if (flags)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_eoa(const H5FD_t *file, H5FD_mem_t) { return static_cast<haddr_t>(driver(file).allocated); }

herr_t set_eoa(H5FD_t *file, H5FD_mem_t, haddr_t end) {
  driver(file).allocated = static_cast<std::int64_t>(end);
  return 0;
}

haddr_t get_eof(const H5FD_t *file, H5FD_mem_t) { return static_cast<haddr_t>(driver(file).size); }

herr_t get_handle(H5FD_t *file, hid_t, void **handle) {
  *handle = &driver(file);
  return 0;
}

/// Looks at a node of a B-tree before HDF5 does.
void check_node(const Driver &ours, std::int64_t address, const char *bytes, std::size_t size) {
  if (ours.tree != nullptr)
    ours.tree->add(address, bytes, size, ours.allocated);
  else
    check_tree_node(bytes, size, ours.allocated);
}

herr_t read(H5FD_t *file, H5FD_mem_t kind, hid_t, haddr_t at, std::size_t count, void *buffer) {
  const Driver &ours = driver(file);
  const auto begin = static_cast<std::int64_t>(at), size = static_cast<std::int64_t>(count);
  if (ours.sought != nullptr && kind == H5FD_MEM_DRAW) {
    *ours.sought = {begin, size};
    return 0;
  }
  const bool well = guarded(H5E_READERROR, [&] {
    std::int64_t there = 0;
    try {
      there = std::clamp<std::int64_t>(ours.readable_size() - begin, 0, size);
      read_all(ours.file.get(), buffer, there, begin, ours.path);
    } catch (const IoError &error) {
      ours.failure = error.what();
      throw;
    }
    std::memset(static_cast<char *>(buffer) + there, 0, count - static_cast<std::size_t>(there));
    ours.held.get(begin, static_cast<char *>(buffer), size);
    if (kind == H5FD_MEM_BTREE)
      check_node(ours, begin, static_cast<const char *>(buffer), count);
  });
  return well ? 0 : -1;
}

herr_t write(H5FD_t *file, H5FD_mem_t, hid_t, haddr_t at, std::size_t count, const void *buffer) {
  Driver &ours = driver(file);
  const auto begin = static_cast<std::int64_t>(at), size = static_cast<std::int64_t>(count);
  if (ours.discarded)
    return 0;
  const bool well = guarded(H5E_WRITEERROR, [&] {
    if (size >= large_bytes && begin >= ours.end && !ours.held.meets(begin, begin + size))
      write_all(ours.file.get(), buffer, size, begin, ours.path);
    else
      ours.held.put(begin, static_cast<const char *>(buffer), size);
    ours.size = std::max(ours.size, begin + size);
  });
  return well ? 0 : -1;
}

herr_t truncate(H5FD_t *file, hid_t, hbool_t) {
  driver(file).size = driver(file).allocated; // the file itself changes in apply
  return 0;
}

/// Keeps a writer's metadata cache small: HDF5 visits all of it at each flush, and the metadata of a file grow with
/// each step.
void bound_cache(hid_t access) {
  H5AC_cache_config_t cache;
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  check(H5Pget_mdc_config(access, &cache), "configure HDF5's cache");
  cache.set_initial_size = true;
  cache.initial_size = cache.min_size = cache.max_size = std::size_t{512} << 10;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  check(H5Pset_mdc_config(access, &cache), "configure HDF5's cache");
}

/// A property list for opening files with our driver. HDF5 keeps the driver as long as the list or a file needs it.
Handle access_by_driver(std::int64_t alignment, const SavedState *saved = nullptr) {
  H5FD_class_t calls{};
#if H5_VERSION_GE(1, 13, 0)
  calls.version = H5FD_CLASS_VERSION;
  calls.value = static_cast<H5FD_class_value_t>(512); // the first value that HDF5 leaves to private drivers
#endif
  calls.name = "tailrace";
  calls.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  calls.fc_degree = H5F_CLOSE_STRONG;
  calls.fapl_size = sizeof(Settings);
  calls.open = open;
  calls.close = close;
  calls.query = query;
  calls.get_eoa = get_eoa;
  calls.set_eoa = set_eoa;
  calls.get_eof = get_eof;
  calls.get_handle = get_handle;
  calls.read = read;
  calls.write = write;
  calls.truncate = truncate;
  constexpr H5FD_mem_t apart[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY; // freed metadata never become data
  std::copy(std::begin(apart), std::end(apart), calls.fl_map);
  Handle list = access_list(alignment);
  const Handle driver_id(check(H5FDregister(&calls), "prepare HDF5"), H5FDunregister);
  const Settings settings{saved};
  check(H5Pset_driver(list, driver_id, &settings), "prepare HDF5");
  return list;
}

Driver &driver_of(hid_t file) {
  void *found = nullptr;
  check(H5Fget_vfd_handle(file, H5P_DEFAULT, &found), "find the driver of a file");
  return *static_cast<Driver *>(found);
}

} // namespace

Handle change_file(const std::string &path, std::int64_t alignment) {
  const Handle list = access_by_driver(alignment);
  bound_cache(list);
  Handle file(check(H5Fopen(path.c_str(), H5F_ACC_RDWR, list), "open " + path), H5Fclose);
  Driver &ours = driver_of(file);
  ours.end = ours.allocated;
  ours.resize(ours.end);
  return file;
}

Handle create_file(const std::string &path) {
  const Handle list = access_by_driver(1);
  bound_cache(list);
  return {check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, list), "create " + path), H5Fclose};
}

Handle read_file(const std::string &path, const SavedState *saved) {
  const Handle list = access_by_driver(1, saved);
  return {check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list), "open " + path), H5Fclose};
}

std::vector<StoredChunk> chunks_of(hid_t file, hid_t dataset, const std::string &path) {
  ChunkTree tree;
  hsize_t count = 0;
  const Handle space = space_of(dataset); // may throw, and the driver must not keep the tree then
  driver_of(file).tree = &tree;
  const herr_t read = H5Dget_num_chunks(dataset, space, &count);
  driver_of(file).tree = nullptr;
  check(read, "read " + path);
  return tree.chunks();
}

StoredChunk place_of_chunk(hid_t file, hid_t dataset, const hsize_t *index, const std::string &path) {
  StoredChunk found;
  std::uint32_t filters = 0;
  char nothing = 0; // not written to: the driver returns no data
  driver_of(file).sought = &found;
  const herr_t read = H5Dread_chunk(dataset, H5P_DEFAULT, index, &filters, &nothing);
  driver_of(file).sought = nullptr;
  check(read, "find a chunk of " + path);
  return found;
}

std::int64_t old_end(hid_t file) { return driver_of(file).end; }

namespace {

std::size_t bytes_in(const HeldBytes::Pieces &pieces) {
  std::size_t sum = 0;
  for (const auto &piece : pieces)
    sum += piece.second.size();
  return sum;
}

/// Remembers what HDF5 has written, beside what it wrote before: the upper nodes of its trees of chunks change in every
/// other step only, and there are more of them where there are more steps.
void remember(Driver &ours, const HeldBytes::Pieces &written) {
  if (bytes_in(ours.known.pieces()) + bytes_in(written) > most_known)
    ours.known.exchange({});
  for (const auto &[begin, bytes] : written)
    ours.known.put(begin, bytes.data(), static_cast<std::int64_t>(bytes.size()));
}

/// Drops what is held and in the file already: HDF5 writes whole blocks, up to 64 KiB of the list of steps, of which a
/// step changes some bytes.
void hold_differences(Driver &ours) {
  HeldBytes::Pieces whole = ours.held.exchange({}), parts;
  for (const auto &[begin, bytes] : whole) {
    const auto size = std::clamp<std::int64_t>(ours.end - begin, 0, static_cast<std::int64_t>(bytes.size()));
    std::vector<char> before(static_cast<std::size_t>(size));
    ours.known.get(begin, before.data(), size, [&](std::int64_t from, std::int64_t count) {
      read_all(ours.file.get(), before.data() + (from - begin), count, from, ours.path);
    });
    add_differences(parts, begin, bytes, before);
  }
  ours.held.exchange(std::move(parts));
  remember(ours, whole);
}

} // namespace

std::map<std::int64_t, std::vector<char>> changes(hid_t file, const std::string &path) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL), "write " + path);
  Driver &ours = driver_of(file);
  hold_differences(ours);
  std::map<std::int64_t, std::vector<char>> pieces;
  for (const auto &[begin, bytes] : ours.held.pieces())
    if (begin < ours.end)
      pieces[begin] = {bytes.begin(),
                       bytes.begin() + std::min(static_cast<std::int64_t>(bytes.size()), ours.end - begin)};
  return pieces;
}

void apply(hid_t file) {
  Driver &ours = driver_of(file);
  for (const auto &[begin, bytes] : ours.held.pieces())
    write_all(ours.file.get(), bytes.data(), static_cast<std::int64_t>(bytes.size()), begin, ours.path);
  if (ours.stored_size() < ours.allocated)
    ours.resize(ours.allocated);
  if (ours.allocated < ours.end) // what lies behind it may be written by others from now on
    ours.known.exchange({});
  ours.size = ours.end = ours.allocated;
  ours.held.exchange({});
}

std::string failure_of(hid_t file) { return driver_of(file).failure; }

void trim(hid_t file) noexcept {
  try {
    const Driver &ours = driver_of(file);
    if (ours.stored_size() > ours.end) [[maybe_unused]]
      const int failed = ::ftruncate(ours.file.get(), ours.end);
  } catch (const IoError &) { // the next open does it
  }
}

void discard(Handle &file) noexcept {
  const Quiet quiet;
  if (!file)
    return;
  void *found = nullptr;
  if (H5Fget_vfd_handle(file, H5P_DEFAULT, &found) >= 0) {
    Driver &ours = *static_cast<Driver *>(found);
    ours.discarded = true; // what HDF5 still writes at close is ignored, and cannot fail
    [[maybe_unused]] const int failed =
        ::ftruncate(ours.file.get(), ours.end); // if it fails, the next open cuts the file
  }
  file.close();
}

} // namespace tailrace::io::h5
