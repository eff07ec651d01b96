#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  /// Writes our record: this process is the writer, and its control channel is at `port`.
  void claim(int port, const std::string &token) const;
  void release() const noexcept; ///< removes it

  struct Record {
    int version = 0; ///< of the stream; 0: it does not say, and the steps will
    int port = 0;    ///< 0: there is no control channel
    std::string token;
    std::vector<std::string> addresses; ///< to try
  };
  /// What the writer's record says; none: it is another program's.
  std::optional<Record> record() const;

private:
  enum class Owner { unknown, alive, dead };
  Owner owner(long &process) const;

  std::string file_, record_;
};

} // namespace tailrace::io
