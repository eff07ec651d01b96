#pragma once

#include <tailrace/support/process_identity.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// The files with which the two ends of a stream NAME find each other. NAME.sst of ADIOS2 has the address of the
/// writer, and stays when the writer is killed. NAME.sst.writer of ours names the process of the writer, so that the
/// file of a dead writer is recognised. All functions are local; for rank 0.
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
  struct Record {
    int version = 0; ///< version of the stream; 0: given in the steps instead
    int port = 0;    ///< of the control channel; 0: there is none
    std::string token;
    std::vector<std::string> addresses; ///< of the control channel, to be tried in this order
    std::vector<std::string> hosts;     ///< addresses of all ranks, and networks, from which readers need no permission
    std::string listens;                ///< the address that ADIOS2 gives to readers; "": not known
    int listens_at = 0;                 ///< its port; 0: not known
  };
  /// Writes our record: this process is the writer, with what `record` says. Only this user can read it.
  void claim(const Record &record) const;
  /// Makes the file of ADIOS2 readable for this user only.
  void protect() const noexcept;
  void release() const noexcept; ///< removes our record
  /// What the writer's record says; nothing when the writer is another program.
  std::optional<Record> record() const;

private:
  ProcessIdentity owner() const; ///< the writer, as its record says

  std::string file_, record_;
};

} // namespace tailrace::io
