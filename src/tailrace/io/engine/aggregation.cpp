#include <tailrace/io/engine/aggregation.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>

namespace tailrace::io {

namespace {

/// Large enough that the cost per message is small, and small enough to stay in a cache.
constexpr std::int64_t message_bytes = std::int64_t{4} << 20;
constexpr int tag = 1;

/// The order in which the pieces of the blocks of a group arrive: by rank, without the first rank.
class Arrivals {
public:
  Arrivals(const std::vector<Box> &boxes, std::int64_t most) : boxes_(boxes), most_(most) {}
  /// False: there are no more pieces.
  bool next(int &member, Box &piece) {
    while (number_ == pieces_.size()) {
      if (++member_ >= static_cast<int>(boxes_.size()))
        return false;
      pieces_ = pieces_of(boxes_[static_cast<std::size_t>(member_)], most_);
      number_ = 0;
    }
    member = member_;
    piece = pieces_[number_++];
    return true;
  }

private:
  const std::vector<Box> &boxes_;
  std::int64_t most_;
  int member_ = 0;
  std::vector<Box> pieces_;
  std::size_t number_ = 0;
};

} // namespace

Aggregators aggregators_named(const std::string &name) {
  using How = Aggregators::Kind;
  if (name == "all")
    return {How::all, 0};
  if (name == "node")
    return {How::node, 0};
  if (name == "plane")
    return {How::plane, 0};
  if (name == "one")
    return {How::number, 1};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 1)
    throw InputError(fmt::format(
        "parameter aggregators = '{}': expected all, node, plane, one, or the number of ranks that write", name));
  return {How::number, number};
}

Aggregation::Aggregation(const Communicator &comm, const Aggregators &aggregators)
    : comm_(comm), aggregators_(aggregators) {
  using How = Aggregators::Kind;
  if (aggregators_.kind == How::number && aggregators_.number >= comm.size() && comm.size() > 1)
    aggregators_ = {How::all, 0};
  if (comm.size() == 1 && aggregators_.kind != How::number)
    aggregators_ = {How::number, 1};
  if (aggregators_.kind == How::node)
    group_ = comm.split_node();
  else if (aggregators_.kind == How::number && comm.size() > 1)
    group_ = comm.split(static_cast<int>(comm.rank() * aggregators_.number / comm.size()), comm.rank());
  reserve(group_);
}

/// Allocates the buffers now, because here all ranks can agree on an error; in the middle of a message they cannot.
void Aggregation::reserve(const std::optional<Communicator> &group) {
  comm_.agree([&] {
    if (group && group->size() > 1 && group->rank() == 0)
      buffers_.resize(static_cast<std::size_t>(2 * message_bytes));
  });
}

void Aggregation::remake(const std::string &name, const Box &block) {
  // Two ranges may get the same colour. Then their ranks share a writer, which is correct too.
  const bool none = block.empty();
  const Communicator same_start =
      comm_.split(none ? 0 : static_cast<int>(block.start[2] % 0x3fffffff) + 1, comm_.rank());
  Plane plane{none ? -1 : block.start[2], none ? 0 : block.count[2], std::nullopt};
  plane.group = same_start.split(none ? 0 : static_cast<int>(block.count[2] % 0x7fffffff), same_start.rank());
  reserve(plane.group);
  planes_[name] = plane;
}

const Communicator *Aggregation::group(const Block &block) {
  if (aggregators_.kind != Aggregators::Kind::plane)
    return group_ && group_->size() > 1 ? &*group_ : nullptr;
  const Box &part = block.place.block;
  const auto found = planes_.find(block.name);
  const bool same = found != planes_.end() && found->second.start == (part.empty() ? -1 : part.start[2]) &&
                    found->second.count == (part.empty() ? 0 : part.count[2]);
  if (comm_.max(std::int64_t{!same}) > 0)
    remake(block.name, part);
  const auto &group = planes_.at(block.name).group;
  return group->size() > 1 ? &*group : nullptr;
}

void Aggregation::move(const Communicator *group, const Block &block, Trace &trace, bool failed, const Take &take) {
  std::exception_ptr failure; // kept until all messages are sent: no rank waits for one that failed
  try {
    if (!failed && (!group || group->rank() == 0))
      take(0, block.place.block, block);
  } catch (...) {
    failure = std::current_exception();
  }
  if (group)
    exchange(*group, block, trace, failed || failure, take);
  if (failure)
    std::rethrow_exception(failure);
}

void Aggregation::exchange(const Communicator &group, const Block &block, Trace &trace, bool failed, const Take &take) {
  const Span span(trace, Phase::aggregate);
  static_assert(sizeof(Box) == 6 * sizeof(std::int64_t));
  std::vector<Box> boxes(group.rank() == 0 ? static_cast<std::size_t>(group.size()) : 0);
  check_mpi(MPI_Gather(&block.place.block, 6, MPI_INT64_T, boxes.data(), 6, MPI_INT64_T, 0, group.get()), "MPI_Gather");
  if (group.rank() == 0)
    receive(group, block, boxes, failed, take);
  else
    send(group, block);
}

void Aggregation::send(const Communicator &group, const Block &block) const {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  const auto &[shape, part, memory] = block.place;
  const bool packed = part != memory;
  const std::int64_t most = message_bytes / size, length = std::min(most, part.size()) * size;
  std::vector<char> buffers;
  std::exception_ptr failure;
  try {
    if (packed)
      buffers.resize(static_cast<std::size_t>(std::min(2 * length, part.size() * size)));
  } catch (...) { // empty messages tell the receiver that this rank failed
    failure = std::current_exception();
  }
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const char *next = static_cast<const char *>(block.data); // of an array that is sent without a copy
  std::size_t turn = 0;
  for (const Box &piece : pieces_of(part, most)) {
    const std::int64_t bytes = failure ? 0 : piece.size() * size;
    check_mpi(MPI_Wait(&requests[turn], MPI_STATUS_IGNORE), "MPI_Wait");
    const char *from = next;
    if (packed && !failure) {
      char *buffer = buffers.data() + static_cast<std::int64_t>(turn) * length;
      convert_block({shape, piece, memory}, block.type, block.type, block.data, buffer);
      from = buffer;
    }
    if (block.checksum && !failure)
      block.checksum->add(from, static_cast<std::size_t>(bytes));
    check_mpi(MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, 0, tag, group.get(), &requests[turn]), "MPI_Isend");
    next += bytes;
    turn = 1 - turn;
  }
  check_mpi(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  if (failure)
    std::rethrow_exception(failure);
}

void Aggregation::receive(const Communicator &group, const Block &block, const std::vector<Box> &boxes, bool failed,
                          const Take &take) {
  const auto size = static_cast<std::int64_t>(size_of(block.type));
  Arrivals arrivals(boxes, message_bytes / size);
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    int member = 0;
    Box piece;
    char *data = nullptr;
  };
  std::array<Slot, 2> slots;
  const auto ask = [&](Slot &slot) {
    slot.member = 0;
    if (arrivals.next(slot.member, slot.piece))
      check_mpi(MPI_Irecv(slot.data, static_cast<int>(slot.piece.size() * size), MPI_BYTE, slot.member, tag,
                          group.get(), &slot.request),
                "MPI_Irecv");
  };
  for (std::size_t s = 0; s < slots.size(); ++s) {
    slots[s].data = buffers_.data() + static_cast<std::int64_t>(s) * message_bytes;
    ask(slots[s]);
  }
  std::exception_ptr failure;
  for (std::size_t turn = 0; slots[turn].member > 0; turn = 1 - turn) {
    Slot &slot = slots[turn];
    MPI_Status status;
    check_mpi(MPI_Wait(&slot.request, &status), "MPI_Wait");
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    failed = failed || bytes != slot.piece.size() * size; // the sender failed and reports its error
    try {
      if (!failed)
        take(slot.member, boxes[static_cast<std::size_t>(slot.member)],
             {block.name, block.type, {block.place.shape, slot.piece, slot.piece}, slot.data, block.list, nullptr});
    } catch (...) {
      failure = std::current_exception();
      failed = true;
    }
    ask(slot);
  }
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace tailrace::io
