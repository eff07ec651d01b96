#include <tailrace/io/hdf5/journal/held_bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace tailrace::io::h5 {

namespace {

constexpr std::size_t worth_a_call = 256; ///< writing so many bytes that do not change costs less than another call

std::int64_t end_of(HeldBytes::Pieces::const_iterator piece) {
  return piece->first + static_cast<std::int64_t>(piece->second.size());
}

} // namespace

void HeldBytes::put(std::int64_t begin, const char *data, std::int64_t size) {
  const std::int64_t end = begin + size;
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin() && end_of(std::prev(piece)) >= begin)
    --piece;
  else
    piece = pieces_.emplace_hint(piece, begin, std::vector<char>());
  std::vector<char> tail; // the end of the last piece that this one covers
  for (auto next = std::next(piece); next != pieces_.end() && next->first <= end; next = pieces_.erase(next))
    if (end_of(next) > end)
      tail.assign(next->second.end() - (end_of(next) - end), next->second.end());
  auto &bytes = piece->second;
  bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(end - piece->first)));
  std::copy_n(data, size, bytes.begin() + (begin - piece->first));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
}

void HeldBytes::get(std::int64_t begin, char *data, std::int64_t size, const Gap &gap) const {
  const std::int64_t end = begin + size;
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin())
    --piece;
  std::int64_t done = begin;
  for (; piece != pieces_.end() && piece->first < end; ++piece) {
    const std::int64_t from = std::max(begin, piece->first), to = std::min(end, end_of(piece));
    if (from >= to)
      continue;
    if (gap && done < from)
      gap(done, from - done);
    std::copy_n(piece->second.begin() + (from - piece->first), to - from, data + (from - begin));
    done = to;
  }
  if (gap && done < end)
    gap(done, end - done);
}

bool HeldBytes::meets(std::int64_t begin, std::int64_t end) const {
  const auto behind = pieces_.lower_bound(end);
  return behind != pieces_.begin() && end_of(std::prev(behind)) > begin;
}

HeldBytes::Pieces HeldBytes::exchange(Pieces pieces) { return std::exchange(pieces_, std::move(pieces)); }

void add_differences(HeldBytes::Pieces &parts, std::int64_t begin, const std::vector<char> &bytes,
                     const std::vector<char> &before) {
  const auto differs = [&](std::size_t at) { return at >= before.size() || bytes[at] != before[at]; };
  for (std::size_t from = 0; from < bytes.size(); ++from) {
    if (!differs(from))
      continue;
    std::size_t to = from + 1;
    for (std::size_t at = to; at < bytes.size() && at < to + worth_a_call; ++at)
      if (differs(at))
        to = at + 1;
    parts[begin + static_cast<std::int64_t>(from)] = {bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                                      bytes.begin() + static_cast<std::ptrdiff_t>(to)};
    from = to;
  }
}

} // namespace tailrace::io::h5
