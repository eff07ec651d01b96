#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/communicator.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tailrace::io {

/// Which ranks write for the others: every rank for itself; one of each node; one of each plane of ranks, those whose
/// blocks have the same range in z; or a number of ranks.
struct Aggregators {
  enum class Kind { all, node, plane, number } kind = Kind::all;
  std::int64_t number = 0;
};

/// "all", "node", "plane", "one" or a number. Throws InputError for anything else. Local.
Aggregators aggregators_named(const std::string &name);

/// Brings blocks to the ranks that write them, in messages of bounded size: nobody holds more of other ranks' blocks
/// than two messages.
class Aggregation {
public:
  /// Collective; the same error on all ranks.
  Aggregation(const Communicator &comm, const Aggregators &aggregators);

  /// Those whose blocks of this variable go the same way; the lowest of them writes. Null: this rank writes its own.
  /// Collective; the same error on all ranks.
  const Communicator *group(const Block &block);
  /// Whether rank 0 of all writes everything.
  bool only_one() const { return aggregators_.kind == Aggregators::Kind::number && aggregators_.number == 1; }

  /// Gets a part of the block `whole` of rank `member` of the group; contiguous.
  using Take = std::function<void(int member, const Box &whole, const Block &piece)>;
  /// Called by all of a group with their blocks: the lowest rank gets those of the others piece by piece, in the order
  /// of the ranks, with `take`; the others send theirs, and sum them where their checksum is wanted. An exception, from
  /// `take` too, is thrown only when everything has been sent and received: no rank waits for one that failed. So it
  /// is local, and has to be agreed on afterwards. `failed` says that what comes is not wanted any more.
  void move(const Communicator &group, const Block &block, Trace &trace, bool failed, const Take &take);

private:
  void send(const Communicator &group, const Block &block) const;
  void receive(const Communicator &group, const Block &block, const std::vector<Box> &boxes, bool failed,
               const Take &take);
  void remake(const std::string &name, const Box &block);
  void reserve(const std::optional<Communicator> &group);

  struct Plane {
    std::int64_t start = 0, count = 0; ///< of this rank's block in z
    std::optional<Communicator> group;
  };
  Communicator comm_;
  Aggregators aggregators_;
  std::optional<Communicator> group_;   ///< when it does not depend on the variable
  std::map<std::string, Plane> planes_; ///< by variable
  std::vector<char> buffers_;           ///< two messages; only where somebody's blocks arrive
};

} // namespace tailrace::io
