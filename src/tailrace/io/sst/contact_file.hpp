#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The files by which the two ends of a stream NAME find each other: NAME.sst of ADIOS2, which says where the writer
/// listens, and which stays when the writer is killed; and NAME.sst.writer of ours, which says which process the writer
/// is, so that a file that a dead writer left is recognised. All functions are local; for rank 0.
class ContactFile {
public:
  explicit ContactFile(std::string name);
  const std::string &file() const { return file_; } ///< NAME.sst

  /// Whether there is a contact file that was not left by a dead process of this host. The writers of other programs
  /// count as alive, because they have no record.
  bool alive() const;
  /// Why it is not, for messages: "there is no run.sst", "run.sst was left by process 12 of this host, which has
  /// ended".
  std::string why_not() const;

  /// Throws IoError when the files cannot be created, or when another process of this host writes this stream.
  void check_writable() const;
  /// Writes our record: this process is the writer, and its control channel is at `port`.
  void claim(int port, const std::string &token) const;
  void release() const noexcept; ///< removes it

  struct Record {
    int version = 0; ///< of the stream; 0: not given here, but in the steps
    int port = 0;    ///< 0: there is no control channel
    std::string token;
    std::vector<std::string> addresses; ///< to be tried in this order
  };
  /// What the writer's record says; nothing when the writer is another program.
  std::optional<Record> record() const;

private:
  enum class Owner { unknown, alive, dead };
  Owner owner(long &process) const;

  std::string file_, record_;
};

} // namespace tailrace::io
