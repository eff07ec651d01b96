#pragma once

#include <tailrace/io/storage/writeback.hpp>
#include <tailrace/support/file_descriptor.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tailrace::io {

// SIONlib containers, file format version 5: the byte streams of many tasks in one file or a few. A task owns a chunk
// of every block of its file; a stream that is longer than its chunk continues in the next block. All functions are
// local: in a parallel program one rank creates the container, every rank writes its stream, and one rank finishes the
// container.

/// Where a task writes: the number of its physical file, the first byte of its first block there, the bytes that it may
/// use of each block, and the distance from one block to the next.
struct SionPlace {
  std::int64_t file = 0, start = 0, chunk = 0, skip = 0;
};

/// The positions of headers and chunks in a container that is being written.
class SionLayout {
public:
  /// Chunk sizes, one per task, are rounded up to whole multiples of `block_bytes`. Throws InputError for sizes or
  /// numbers that are not valid.
  SionLayout(std::string path, std::vector<std::int64_t> chunk_bytes, int files = 1, std::int64_t block_bytes = 4096);

  int tasks() const { return static_cast<int>(chunks_.size()); }
  int files() const { return files_; }
  /// Physical file `number`; the first has the name of the container.
  std::string file(int number) const { return file(path_, number); }
  /// The same for a container of this name.
  static std::string file(const std::string &path, int number);
  int file_of(int task) const;
  std::int64_t chunk(int task) const { return chunks_[static_cast<std::size_t>(task)]; }
  /// Where the first block of a task starts in its file, and the distance to the next block.
  std::int64_t start(int task) const { return starts_[static_cast<std::size_t>(task)]; }
  std::int64_t skip(int file) const;
  SionPlace place(int task) const { return {file_of(task), start(task), chunk(task), skip(file_of(task))}; }

  /// Creates the files, with `open` if given, which returns a new file open to write. They cannot be read before
  /// `finish`.
  void create(const std::function<FileDescriptor(const std::string &path)> &open = {}) const;
  /// Completes the files. `used` has, for every task, the bytes used of each of its blocks, as its stream's `close`
  /// returned them.
  void finish(const std::vector<std::vector<std::int64_t>> &used) const;

private:
  int first_task(int file) const;
  std::int64_t start_of_data(int file) const;

  std::string path_;
  std::vector<std::int64_t> chunks_, starts_;
  std::int64_t block_bytes_;
  int files_;
};

/// One task's stream into a container that has been created.
class SionStream {
public:
  /// `path`: of the container. `will_sync`: the caller will call flush with `sync`.
  SionStream(const std::string &path, const SionPlace &place, bool will_sync = false);

  /// Reserves disk blocks for the next `size` bytes. Throws IoError if the disk has no space.
  void reserve(std::int64_t size) const;
  /// Appends any number of bytes; those that do not fit into a block go to the next one.
  void write(const void *data, std::int64_t size);
  /// Continues in the next block, as SIONlib does where a piece does not fit.
  void next_block();
  /// Writes buffered bytes to the file, and with `sync` waits until all bytes are on the disk.
  void flush(bool sync = false);
  /// Flushes and ends the stream. Returns the bytes used of each block.
  std::vector<std::int64_t> close();

private:
  void put(const char *data, std::int64_t size);

  std::string path_;
  std::int64_t chunk_, start_, skip_;
  FileDescriptor file_;
  Writeback writeback_;
  std::vector<char> buffer_;
  std::vector<std::int64_t> used_{0};
};

/// A complete container, written by Tailrace or SIONlib. Any process can read any part of the stream of any task,
/// whatever the number of processes that wrote it. Every number in the files is checked before it is used; throws an
/// IoError that names the place and the fault if a container was not closed, is incomplete or is damaged.
class SionReader {
public:
  explicit SionReader(const std::string &path);

  int tasks() const { return static_cast<int>(tasks_.size()); }
  int files() const { return static_cast<int>(files_.size()); }
  bool key_value() const { return key_value_; }
  /// Whether the program that wrote it used big-endian numbers. The streams are returned as they are.
  bool big_endian_data() const { return big_endian_data_; }
  /// Length of a task's stream in bytes.
  std::int64_t size(int task) const;
  /// Bytes used of each block of a task.
  std::vector<std::int64_t> used(int task) const;
  /// Fills `data` with [offset, offset + size) of a task's stream.
  void read(int task, std::int64_t offset, std::int64_t size, void *data) const;

  /// A pair in a stream of a key-value container; its payload is [offset, offset + size) of the stream.
  struct Pair {
    std::uint64_t key = 0;
    std::int64_t offset = 0, size = 0;
  };
  std::vector<Pair> pairs(int task) const;

private:
  struct File {
    std::string path;
    FileDescriptor descriptor;
  };
  struct Task {
    int file = -1;
    std::int64_t start = 0, skip = 0;
    std::vector<std::int64_t> ends; ///< length of the stream up to the end of each block
  };
  struct Header;
  Header read_header(int number, int expected_files);
  void read_tasks(int number, const Header &header, std::vector<std::int64_t> &places);
  const Task &task(int number) const;

  std::vector<File> files_;
  std::vector<Task> tasks_;
  bool key_value_ = false, big_endian_data_ = false;
};

} // namespace tailrace::io
