#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tailrace {

/// Numbers of this rank, and after Communicator::combine those of all ranks.
struct Tally {
  std::array<std::int64_t, 4> largest{};
  std::array<std::int64_t, 4> sum{};
};

/// A duplicated MPI communicator that frees itself. Copies share the duplicate.
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
  /// Ranks that share memory. Collective.
  Communicator split_node() const;

  void barrier() const;
  double sum(double value) const;
  /// Element by element, in place.
  void sum(std::span<std::int64_t> values) const;
  void max(std::span<std::int64_t> values) const;
  double max(double value) const;
  std::int64_t sum(std::int64_t value) const;
  std::int64_t max(std::int64_t value) const;
  /// Largest values and sums over all ranks in one reduction. Collective.
  void combine(Tally &tally) const;
  /// Sum of `value` over the ranks below this one.
  std::int64_t exclusive_scan(std::int64_t value) const;
  std::string broadcast(std::string text, int root) const;
  /// For a value that may be long in coming: the other ranks sleep meanwhile, where MPI would keep their cores busy.
  std::int64_t broadcast_patiently(std::int64_t value, int root) const;
  /// Every rank's text on `root`, empty elsewhere. Collective.
  std::vector<std::string> gather(const std::string &text, int root) const;

  /// Runs `work` (which must not communicate) and agrees on the outcome: when it throws on any rank, every rank throws
  /// an error of the same type (that of the lowest failing rank). This is what keeps one rank's failure from being
  /// everybody's deadlock: call it before entering a collective. Collective.
  void agree(const std::function<void()> &work) const;
  /// What `work` (which must not communicate) makes on rank 0, on all ranks; when it throws there, every rank throws
  /// that error. One message where the text has less than a kilobyte. Collective.
  std::string from_root(const std::function<std::string()> &work) const;

private:
  Communicator(MPI_Comm comm, bool owned);
  std::shared_ptr<MPI_Comm> comm_;
  int rank_ = 0;
  int size_ = 1;
};

/// Throws an Error with MPI's own words when `code` is not MPI_SUCCESS.
void check_mpi(int code, const char *what);

/// MPI's type for T.
template <class T> MPI_Datatype mpi_type();

} // namespace tailrace
