#include <tailrace/io/adios2/bp_index.hpp>

#include <tailrace/io/storage/files.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

namespace tailrace::io::bp {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t header_bytes = 64, record_bytes = 64; // a record of BP4; records of BP5 differ in length
constexpr std::int64_t version_position = 37, start_of_metadata_position = 16, end_of_metadata_position = 40;

std::string index_path(const std::string &directory) { return (fs::path(directory) / "md.idx").string(); }

void cut(const fs::path &file, std::uintmax_t size) {
  std::error_code failed;
  const std::uintmax_t now = fs::file_size(file, failed);
  if (!failed && now < size)
    throw IoError(
        fmt::format("cannot rewind {}: it has {} bytes, and the steps to keep need {}", file.string(), now, size));
  if (!failed)
    fs::resize_file(file, size, failed);
  if (failed)
    throw IoError(fmt::format("cannot rewind {}: {}", file.string(), failed.message()));
}

} // namespace

std::uintmax_t size_of_index(const std::string &directory) {
  return static_cast<std::uintmax_t>(bytes_of(index_path(directory)).value_or(0));
}

void cut_index(const std::string &directory, std::uintmax_t size) {
  const std::string path = index_path(directory);
  const FileDescriptor index(path, O_RDONLY);
  struct stat now{};
  if (::fstat(index.get(), &now) != 0)
    throw file_error("read", path, errno);
  std::string text = read_file(index, path);
  if (text.size() < size)
    throw IoError(
        fmt::format("cannot rewind {}: it has {} bytes, and the steps to keep need {}", path, text.size(), size));
  if (text.size() == size)
    return;
  text.resize(size);
  const mode_t mode = now.st_mode & 07777;
  // Synced, because the steps to keep depend on it; fchmod gives what the umask takes from a new file.
  const FileDescriptor made = replace_file(path, text, true, static_cast<int>(mode));
  static_cast<void>(!::fchmod(made.get(), mode));
}

int version(const std::string &directory) {
  if (size_of_index(directory) < header_bytes)
    return 0;
  const std::string path = index_path(directory);
  char found = 0;
  read_all(FileDescriptor(path, O_RDONLY).get(), &found, 1, version_position, path);
  return found == 4 || found == 5 ? found : 0;
}

bool has_steps(const std::string &directory) { return size_of_index(directory) > header_bytes; }

std::map<std::string, std::uintmax_t> data_sizes(const std::string &directory) {
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto &entry : fs::directory_iterator(directory))
    if (const std::string name = entry.path().filename().string(); name.rfind("data.", 0) == 0)
      sizes[name] = entry.file_size();
  return sizes;
}

void cut_bp4(const std::string &directory, std::size_t kept, const std::map<std::string, std::uintmax_t> &sizes) {
  const fs::path folder = directory;
  std::uint64_t end_of_metadata = 0;
  const std::uintmax_t index_size = header_bytes + record_bytes * kept;
  {
    const FileDescriptor index(index_path(directory), O_RDONLY);
    read_all(index.get(), &end_of_metadata, sizeof end_of_metadata,
             static_cast<std::int64_t>(index_size - record_bytes) + end_of_metadata_position, index_path(directory));
  }
  cut_index(directory, index_size); // first: if the program is killed after this, no step refers to the other bytes
  cut(folder / "md.0", end_of_metadata);
  if (sizes.empty())
    return;
  for (const auto &[name, size] : data_sizes(directory)) {
    const auto kept_size = sizes.find(name);
    if (kept_size == sizes.end())
      fs::remove(folder / name);
    else
      cut(folder / name, kept_size->second);
  }
}

namespace {

/// Reads the numbers of a record, which may end too early.
class Numbers {
public:
  Numbers(const std::string &text, std::size_t place) : text_(text), place_(place) {}
  std::uint64_t next() {
    std::uint64_t value = 0;
    if (place_ + sizeof value <= text_.size())
      std::memcpy(&value, text_.data() + place_, sizeof value);
    place_ += sizeof value;
    return value;
  }
  /// How many numbers are left.
  std::uint64_t left() const { return place_ <= text_.size() ? (text_.size() - place_) / sizeof(std::uint64_t) : 0; }
  bool ended() const { return place_ > text_.size(); }
  std::size_t place() const { return place_; }

private:
  const std::string &text_;
  std::size_t place_;
};

/// What md.idx of BP5 says about the steps to keep, and where in the data files the other steps begin.
struct Bp5Index {
  std::vector<StepPlace> places;                                   ///< of all complete steps
  std::size_t steps = 0;                                           ///< number of complete steps
  std::size_t end = 0;                                             ///< of the records of the steps to keep
  std::uint64_t end_of_metadata = 0;                               ///< of these steps, in md.0
  std::uint64_t files = 0;                                         ///< number of their data files
  std::map<std::uint64_t, std::uint64_t> last_kept, first_dropped; ///< positions, by the number of the data file
};

/// Reads the record of the files of all writers: writers, aggregators, files, and the file of every writer. False: it
/// is incomplete.
bool read_writers(Numbers &numbers, std::vector<std::uint64_t> &file_of, std::uint64_t &files) {
  const std::uint64_t writers = numbers.next();
  numbers.next();
  files = std::max(files, numbers.next());
  if (numbers.ended() || writers > numbers.left())
    return false;
  file_of.resize(writers);
  for (auto &file : file_of)
    file = numbers.next();
  return true;
}

/// Reads the record of a step: position and size in md.0, number of flushes, and for every writer position and size of
/// each flush and the position of the rest. False: it is incomplete.
bool read_step(Numbers &numbers, const std::vector<std::uint64_t> &file_of, bool keep, Bp5Index &index) {
  const std::uint64_t begin = numbers.next(), size = numbers.next(), flushes = numbers.next(), left = numbers.left();
  if (numbers.ended() || file_of.empty() || flushes > left || 2 * flushes + 1 > left / file_of.size())
    return false;
  for (const std::uint64_t file : file_of) {
    const std::uint64_t first = numbers.next();
    auto &known = (keep ? index.last_kept : index.first_dropped).try_emplace(file, first).first->second;
    known = keep ? std::max(known, first) : std::min(known, first);
    for (std::uint64_t skipped = 0; skipped < 2 * flushes; ++skipped)
      numbers.next();
  }
  if (keep)
    index.end_of_metadata = begin + size;
  index.places.push_back({0, 0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(begin + size)});
  return true;
}

Bp5Index read_bp5(const std::string &text, std::size_t kept) {
  Bp5Index index;
  std::vector<std::uint64_t> file_of;
  std::uint64_t files = 0;
  for (std::size_t place = header_bytes; place < text.size();) { // a letter, the length of the record, then its numbers
    const char kind = text[place];
    Numbers numbers(text, place + 1);
    numbers.next();
    const bool keep = index.steps < kept;
    if (kind == 'w' ? !read_writers(numbers, file_of, files) : kind != 's' || !read_step(numbers, file_of, keep, index))
      break;
    place = numbers.place();
    if (kind != 's')
      continue;
    index.places.back().index_end = static_cast<std::int64_t>(place);
    ++index.steps;
    if (keep)
      index.end = place, index.files = files;
  }
  return index;
}

std::vector<StepPlace> read_bp4(const std::string &text) {
  std::vector<StepPlace> places;
  for (std::size_t record = header_bytes; record + record_bytes <= text.size(); record += record_bytes) {
    Numbers numbers(text, record + start_of_metadata_position);
    const auto begin = static_cast<std::int64_t>(numbers.next());
    Numbers last(text, record + end_of_metadata_position);
    places.push_back(
        {0, static_cast<std::int64_t>(record + record_bytes), begin, static_cast<std::int64_t>(last.next())});
  }
  return places;
}

/// Cuts the last block of mmd.0 if it is incomplete: two lengths, then a name and a description of values. ADIOS2 would
/// append behind it, and find none of the later blocks.
void cut_descriptions(const fs::path &path) {
  if (!fs::exists(path))
    return;
  const std::string text = read_file(path.string());
  std::size_t end = 0;
  while (true) {
    Numbers lengths(text, end);
    const std::uint64_t name = lengths.next(), description = lengths.next();
    const std::uint64_t rest = lengths.ended() ? 0 : text.size() - lengths.place();
    if (lengths.ended() || name > rest || description > rest - name)
      break;
    end = lengths.place() + name + description;
  }
  if (end < text.size())
    cut(path, end);
}

} // namespace

std::vector<StepPlace> step_places(const std::string &index) {
  if (index.size() < header_bytes)
    return {};
  const char version = index[version_position];
  std::vector<StepPlace> places;
  if (version == 4)
    places = read_bp4(index);
  else if (version == 5)
    places = read_bp5(index, std::numeric_limits<std::size_t>::max()).places;
  std::int64_t begin = 0;
  for (auto &place : places)
    place.index_begin = std::exchange(begin, place.index_end);
  return places;
}

std::int64_t cut_bp5(const std::string &directory, std::size_t kept) {
  const fs::path folder = directory;
  const Bp5Index index = read_bp5(read_file(index_path(directory)), kept);
  if (index.steps < kept)
    throw IoError(fmt::format("cannot append to {}: its md.idx is damaged: expected {} steps or more, found {}",
                              directory, kept, index.steps));
  cut_index(directory, index.end); // first, see cut_bp4
  cut(folder / "md.0", index.end_of_metadata);
  cut_descriptions(folder / "mmd.0");
  for (const auto &[file, first] : index.first_dropped) {
    const fs::path data = folder / fmt::format("data.{}", file);
    const auto last = index.last_kept.find(file);
    if (last != index.last_kept.end() && last->second > first)
      continue; // not in the order of the steps: we cannot tell where the values of the others end
    if (std::cmp_greater(bytes_of(data.string()).value_or(0), first))
      cut(data, first);
  }
  return static_cast<std::int64_t>(index.files);
}

} // namespace tailrace::io::bp
