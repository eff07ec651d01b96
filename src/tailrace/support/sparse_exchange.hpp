#pragma once

#include <tailrace/support/communicator.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailrace {

/// Sends a text to each of some ranks, which do not know that they get one. Returns what came to this rank, by the rank
/// that sent it. No rank has a message or a byte more where there are more ranks. Collective.
std::map<int, std::string> exchange_sparse(const Communicator &comm, const std::map<int, std::string> &outgoing);

/// The same for values that are copied byte by byte.
template <class T>
std::map<int, std::vector<T>> exchange_sparse(const Communicator &comm, const std::map<int, std::vector<T>> &outgoing) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::map<int, std::string> texts;
  for (const auto &[rank, values] : outgoing)
    texts[rank].assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
  std::map<int, std::vector<T>> found;
  for (const auto &[rank, text] : exchange_sparse(comm, texts)) {
    std::vector<T> &values = found[rank];
    values.resize(text.size() / sizeof(T));
    text.copy(reinterpret_cast<char *>(values.data()), text.size());
  }
  return found;
}

} // namespace tailrace
