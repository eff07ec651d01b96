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

/// Which ranks write: all of them; one per node; one per plane of ranks, that is ranks whose blocks have the same range
/// in z; or a given number of ranks.
struct Aggregators {
  enum class Kind { all, node, plane, number } kind = Kind::all;
  std::int64_t number = 0;
};

/// "all", "node", "plane", "one" or a number. Throws InputError for anything else. Local.
Aggregators aggregators_named(const std::string &name);

/// Sends blocks to the ranks that write them. Messages have a limited size: a rank holds at most two messages with
/// blocks of other ranks.
class Aggregation {
public:
  /// Collective; the same error on all ranks.
  Aggregation(const Communicator &comm, const Aggregators &aggregators);

  /// The ranks whose blocks of this variable have the same writer, which is the lowest of these ranks. Null: this rank
  /// writes its own block. Collective; the same error on all ranks.
  const Communicator *group(const Block &block);
  /// Whether this rank writes. Not for planes, whose writers are others for each variable. Local.
  bool writes() const { return !group_ || group_->rank() == 0; }
  /// Whether rank 0 of all ranks writes everything.
  bool only_one() const { return aggregators_.kind == Aggregators::Kind::number && aggregators_.number == 1; }

  /// Receives a part of the block `whole` of rank `member` of the group; the part is contiguous.
  using Take = std::function<void(int member, const Box &whole, const Block &piece)>;
  /// All ranks of a group call this with their blocks. The lowest rank passes its own to `take` as it is, then the
  /// other blocks piece by piece in the order of the ranks; the other ranks send their blocks and compute checksums
  /// where wanted. Exceptions, also from `take`, are thrown only after all messages, so that no rank waits for one that
  /// failed. They are local: the ranks must agree on them afterwards. `failed`: this rank takes nothing.
  void move(const Communicator *group, const Block &block, Trace &trace, bool failed, const Take &take);

private:
  void exchange(const Communicator &group, const Block &block, Trace &trace, bool failed, const Take &take);
  void send(const Communicator &group, const Block &block) const;
  void receive(const Communicator &group, const Block &block, const std::vector<Box> &boxes, bool failed,
               const Take &take);
  void remake(const std::string &name, const Box &block);
  void reserve(const std::optional<Communicator> &group);

  struct Plane {
    std::int64_t start = 0, count = 0; ///< range of this rank's block in z
    std::optional<Communicator> group;
  };
  Communicator comm_;
  Aggregators aggregators_;
  std::optional<Communicator> group_;   ///< if it is the same for all variables
  std::map<std::string, Plane> planes_; ///< one per variable
  std::vector<char> buffers_;           ///< two messages; only where blocks arrive
};

} // namespace tailrace::io
