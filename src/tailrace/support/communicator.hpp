#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tailrace {

/// Numbers of this rank, and after Communicator::combine those of all ranks.
struct Tally {
  std::array<std::int64_t, 4> largest{};
  std::array<std::int64_t, 4> sum{};

  /// Takes largest[at] and largest[at + 1] to find out whether all ranks give the same value: `same` tells after
  /// combine.
  void compare(std::size_t at, std::int64_t value) {
    largest[at] = value;
    largest[at + 1] = ~value; // ~ reverses the order, and unlike - has no overflow
  }
  bool same(std::size_t at) const { return largest[at] == ~largest[at + 1]; }
};

/// A duplicated MPI communicator that frees itself. Copies share the duplicate. Every function that talks to other
/// ranks is collective over this communicator and throws Error where MPI fails.
class Communicator {
public:
  /// Collective over `parent`: duplicates it, so that our messages never meet the caller's.
  explicit Communicator(MPI_Comm parent);
  /// The communicator behind a Fortran handle (`comm.py2f()` in mpi4py). Collective.
  static Communicator from_fortran(MPI_Fint handle);

  MPI_Comm get() const { return comm_.get() ? *comm_ : MPI_COMM_NULL; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Ranks of equal `color` form a communicator, ordered by `key`. Collective.
  Communicator split(int color, int key) const;
  /// The ranks that can share memory with this one. Collective.
  Communicator split_node() const;

  /// Returns when all ranks have called it. Collective.
  void barrier() const;
  /// The sum or the maximum over all ranks, on all ranks; of spans element by element, in place. Collective.
  double sum(double value) const;
  std::int64_t sum(std::int64_t value) const;
  void sum(std::span<std::int64_t> values) const;
  void sum(std::span<double> values) const;
  double max(double value) const;
  std::int64_t max(std::int64_t value) const;
  void max(std::span<std::int64_t> values) const;
  /// Largest values and sums over all ranks in one reduction. Collective.
  void combine(Tally &tally) const;
  /// Sum of `value` over the ranks below this one. Collective.
  std::int64_t exclusive_scan(std::int64_t value) const;

  /// What `root` has, on all ranks. A text and a vector may have any length on the others and take two messages; a
  /// value takes one. Collective.
  std::string broadcast(std::string text, int root) const;
  template <class T> std::vector<T> broadcast(std::vector<T> values, int root) const {
    values.resize(static_cast<std::size_t>(broadcast_value(static_cast<std::int64_t>(values.size()), root)));
    broadcast(std::span<T>(values), root);
    return values;
  }
  template <class T> T broadcast_value(T value, int root) const {
    broadcast(std::span<T>(&value, 1), root);
    return value;
  }
  /// In place; the span must have the same length on all ranks. T is copied byte by byte. Collective.
  template <class T, std::size_t n> void broadcast(std::span<T, n> values, int root) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(std::as_writable_bytes(values), root);
  }
  /// For a value that `root` may send late: the other ranks sleep until then, where MPI would keep their cores busy.
  /// Collective.
  std::int64_t broadcast_patiently(std::int64_t value, int root) const;
  /// Every rank's text on `root`, empty elsewhere. Together they may have 128 GiB. Collective.
  std::vector<std::string> gather(const std::string &text, int root) const;
  /// The values of all ranks on `root`, one rank after another; empty elsewhere. Collective.
  template <class T> std::vector<T> gather(const std::vector<T> &values, int root) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all;
    for (const std::string &bytes :
         gather(std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)), root)) {
      const std::size_t before = all.size();
      all.resize(before + bytes.size() / sizeof(T));
      bytes.copy(reinterpret_cast<char *>(all.data() + before), bytes.size());
    }
    return all;
  }
  /// The text that `root` has for each rank, on that rank; together as many bytes as above. Collective.
  std::string scatter(const std::vector<std::string> &texts, int root) const;

  /// Runs `work` (which must not communicate) and agrees on the outcome: when it throws on any rank, every rank throws
  /// an error of the same type (that of the lowest failing rank). Without this, the ranks that did not fail would wait
  /// in the next collective call forever: call it before entering one. Collective.
  void agree(const std::function<void()> &work) const;
  /// What `work` (which must not communicate) returns on rank 0, on all ranks; when it throws there, every rank throws
  /// that error. One message where the text has less than a kilobyte. Collective.
  std::string from_root(const std::function<std::string()> &work) const;

private:
  Communicator(MPI_Comm comm, bool owned);
  void broadcast_bytes(std::span<std::byte> bytes, int root) const;
  std::shared_ptr<MPI_Comm> comm_;
  int rank_ = 0;
  int size_ = 1;
};

/// Throws an Error with MPI's own words when `code` is not MPI_SUCCESS.
void check_mpi(int code, const char *what);

/// MPI's type for T.
template <class T> MPI_Datatype mpi_type();

} // namespace tailrace
