#pragma once

#include <string>

namespace tailrace::io {

/// Files by which the two ends of a stream NAME find each other: ADIOS2's NAME.sst, which says where the writer listens
/// and stays when the writer is killed; and beside it ours, NAME.sst.writer, which says what process that is, so that a
/// contact left behind is known for what it is. All functions are local; for rank 0.
class StreamContact {
public:
  explicit StreamContact(std::string name);
  const std::string &file() const { return file_; } ///< NAME.sst

  /// A contact file that no dead process of this host has left behind. Those of other programs count as alive: they
  /// have no record.
  bool alive() const;
  /// Why there is none, for people: "there is no run.sst", "run.sst was left by process 12 of this host, which has
  /// ended".
  std::string why_not() const;

  /// Throws IoError when the files cannot be made, or when a living process of this host writes to this stream.
  void check_writable() const;
  void claim() const;            ///< writes our record: this process is the writer
  void release() const noexcept; ///< removes it

private:
  enum class Owner { unknown, alive, dead };
  Owner owner(long &process) const;

  std::string file_, record_;
};

} // namespace tailrace::io
