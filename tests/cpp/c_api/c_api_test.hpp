#pragma once
// Shared code of the tests of the C interface.

#include "io/shared_folder.hpp"
#include <tailrace/c_api/tailrace.h>
#include <tailrace/support/communicator.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace tailrace::test {

using Three = std::array<int64_t, 3>;
inline constexpr Three shape{11, 7, 13};

inline double value(int64_t x, int64_t y, int64_t z) { return static_cast<double>(x + 20 * y + 400 * z); }

/// The values of a box with `ghosts[d]` points around it. The series must not write these ghost points.
template <class T> std::vector<T> values(const Three &start, const Three &count, const Three &ghosts = {0, 0, 0}) {
  std::vector<T> all;
  for (int64_t z = -ghosts[2]; z < count[2] + ghosts[2]; ++z)
    for (int64_t y = -ghosts[1]; y < count[1] + ghosts[1]; ++y)
      for (int64_t x = -ghosts[0]; x < count[0] + ghosts[0]; ++x) {
        const bool inside = x >= 0 && y >= 0 && z >= 0 && x < count[0] && y < count[1] && z < count[2];
        all.push_back(inside ? static_cast<T>(value(start[0] + x, start[1] + y, start[2] + z)) : T(-1));
      }
  return all;
}

/// A series of the C interface, and the part of an array that this rank has (an X pencil).
class CApi : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(tailrace_new(&series), 0);
    tailrace_decomposition *shared = nullptr;
    ASSERT_EQ(tailrace_decomposition_new_f(&shared, MPI_Comm_c2f(MPI_COMM_WORLD), shape.data(), 0, 0), 0) << text();
    ASSERT_EQ(tailrace_decomposition_box(shared, 1, start.data(), count.data()), 0);
    tailrace_decomposition_free(&shared);
    EXPECT_EQ(shared, nullptr);
  }
  void TearDown() override { tailrace_free(&series); }

  static std::string text() { return tailrace_error_text(); }
  int open(const char *mode, const char *engine = nullptr, const std::string &name = "out.h5") {
    return tailrace_open(series, MPI_COMM_WORLD, (folder + "/" + name).c_str(), mode, engine);
  }
  /// Writes one step with `ux` in double precision.
  void write_step() {
    ASSERT_EQ(open("w"), 0) << text();
    ASSERT_EQ(tailrace_begin_step(series, 3, 0.5), 0) << text();
    ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr,
                                    values<double>(start, count).data()),
              0)
        << text();
    ASSERT_EQ(tailrace_end_step(series), 0) << text();
  }
  /// Expects that the call failed on every rank, and that every rank has the error text, behind the name of a function.
  void expect_error(int status, int expected, const std::string &says) {
    EXPECT_EQ(status, expected) << text();
    EXPECT_EQ(text().rfind("tailrace_", 0), 0) << text();
    EXPECT_NE(text().find(says), std::string::npos) << text();
  }

  Communicator comm{MPI_COMM_WORLD};
  SharedFolder made;
  const std::string &folder = made;
  Three start{}, count{};
  tailrace_series *series = nullptr;
};

} // namespace tailrace::test
