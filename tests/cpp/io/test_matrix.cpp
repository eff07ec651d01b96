// Tests all combinations of engines, types, pencils, halos, writers and readers. A series must give the same bytes for
// every decomposition of writers and readers, and for every engine. Writers and readers are groups of the six ranks of
// this program, which tests that a series communicates only within its own communicator.

#include "io/configurations.hpp"
#include "io/shared_folder.hpp"
#include "support.hpp"
#include <tailrace/io/series.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;
using tailrace::test::world;
namespace fs = std::filesystem;

namespace {

const Index3 points{17, 12, 9}; // three different lengths that most numbers of ranks do not divide
const std::vector<int> writers{1, 2, 3, 4, 6}, readers{1, 2, 3, 5};
const std::vector<Pencil> pencils{Pencil::x, Pencil::y, Pencil::z};
const std::vector<std::int64_t> halos{0, 2};

/// Different values for all points and variables. Some change in arithmetic, or compare equal with different bytes.
template <class T> T value(const Index3 &p, std::uint64_t salt) {
  const double plain = test::noise(p, salt);
  switch ((p[0] + 3 * p[1] + 5 * p[2] + static_cast<std::int64_t>(salt)) % 97) {
  case 0:
    return std::numeric_limits<T>::quiet_NaN();
  case 1:
    return -T{0};
  case 2:
    return -std::numeric_limits<T>::infinity();
  case 3:
    return std::numeric_limits<T>::denorm_min();
  default:
    return static_cast<T>(plain);
  }
}

/// The bytes of `box`. Only `block` has values; the rest are ghost points, which the series must not store.
template <class T> std::vector<char> bytes_of(const Box &box, const Box &block, std::uint64_t salt) {
  std::vector<char> bytes(static_cast<std::size_t>(box.size()) * sizeof(T), '\x55');
  test::for_each_point(box, [&](const Index3 &p, std::int64_t at) {
    if (!block.contains({p, {1, 1, 1}}))
      return;
    const T one = value<T>(p, salt);
    std::memcpy(&bytes[static_cast<std::size_t>(at) * sizeof(T)], &one, sizeof(T));
  });
  return bytes;
}

Box with_halo(Box box, std::int64_t width) {
  for (std::size_t d = 0; d < 3; ++d)
    box.start[d] -= width, box.count[d] += 2 * width;
  return box;
}

/// Splits the points between the ranks of `comm`, as squarely as their number allows.
Decomposition share_points(const Communicator &comm) {
  const auto all = Decomposition::process_grids(comm.size(), points);
  const auto [rows, cols] = all[all.size() / 2];
  return {std::make_shared<const ProcessGrid>(comm, rows, cols), points};
}

std::int64_t index_of(std::size_t pencil, std::size_t halo) {
  return static_cast<std::int64_t>(10 * pencil + halo) + 1;
}

template <class T> void write_variable(Series &out, const std::string &name, const Box &block, std::int64_t halo) {
  const std::uint64_t salt = sizeof(T) + static_cast<std::uint64_t>(out.steps().size());
  const Box memory = with_halo(block, halo);
  std::vector<char> bytes = bytes_of<T>(memory, block, salt);
  out.write(name, reinterpret_cast<const T *>(bytes.data()), {points, block, memory});
  std::fill(bytes.begin(), bytes.end(), '\x66'); // write() must have copied the values already
}

/// The grid of the points, with non-uniform coordinates in two directions.
GridDescription stretched_grid() {
  GridDescription grid{points, {0.5, 0, -1}, {0.1, 1, 1}, {}};
  for (const std::size_t d : {1u, 2u})
    for (std::int64_t i = 0; i < points[d]; ++i)
      grid.coordinates[d].push_back(static_cast<double>(i * (i + 3)) / 7 - static_cast<double>(d));
  return grid;
}

void expect_stretched_grid(const Series &in) {
  const GridDescription expected = stretched_grid();
  const auto found = in.grid();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->points, expected.points);
  EXPECT_EQ(found->coordinates, expected.coordinates);
  for (std::size_t d = 0; d < 3; ++d) // if a direction has coordinates, compare the coordinates
    for (const std::int64_t i : {std::int64_t{0}, points[d] - 1})
      EXPECT_EQ(found->coordinate(d, i), expected.coordinate(d, i)) << "direction " << d;
}

/// Writes a step for every pencil and halo. Each step has one variable in single and one in double precision.
void write_series(const std::string &path, const IoConfiguration &one, const Communicator &comm) {
  const Decomposition parts = share_points(comm);
  Series out(path, Mode::write, comm, {one.engine, one.parameters, stretched_grid(), {}, {}});
  for (std::size_t p = 0; p < pencils.size(); ++p)
    for (std::size_t h = 0; h < halos.size(); ++h) {
      out.begin_step(index_of(p, h), 0.5 * static_cast<double>(index_of(p, h)));
      write_variable<float>(out, "single", parts.box(pencils[p]), halos[h]);
      write_variable<double>(out, "double", parts.box(pencils[p]), halos[h]);
      out.end_step();
    }
  out.close();
}

template <class T>
void expect_box(const Series &in, std::size_t step, const std::string &name, const Box &box, std::string &digest) {
  std::vector<char> found(static_cast<std::size_t>(box.size()) * sizeof(T), '\x77');
  in.read(step, name, box, reinterpret_cast<T *>(found.data()));
  const auto expected = bytes_of<T>(box, box, sizeof(T) + static_cast<std::uint64_t>(step));
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0)
      << name << " of step " << step << " on rank " << in.communicator().rank() << " of " << in.communicator().size();
  digest.append(found.begin(), found.end());
}

/// Reads all steps: the part of this rank in another pencil than the writers used, and a box that other ranks read too.
/// Returns all bytes that were read.
std::string read_series(const std::string &path, const Communicator &comm) {
  const Decomposition parts = share_points(comm);
  const Series in(path, Mode::read, comm);
  EXPECT_EQ(in.steps().size(), pencils.size() * halos.size());
  expect_stretched_grid(in);
  std::string digest;
  for (std::size_t step = 0; step < in.steps().size(); ++step) {
    const std::size_t written = step / halos.size();
    EXPECT_EQ(in.steps()[step].index, index_of(written, step % halos.size()));
    const Box odd{{comm.rank() % 3, 2, 1 + comm.rank() % 2}, {13, 9 - comm.rank(), 6}};
    for (const Box &box : {parts.box(pencils[(written + 1) % pencils.size()]), odd}) {
      expect_box<float>(in, step, "single", box, digest);
      expect_box<double>(in, step, "double", box, digest);
    }
    EXPECT_TRUE(in.verify(step).empty());
  }
  return digest;
}

/// Runs `work` on the first `size` ranks and `other` on the rest at the same time. An error is thrown on all ranks.
template <class Work, class Other> void beside(int size, Work work, Other other) {
  const bool first = world().rank() < size;
  const Communicator part = world().split(first ? 0 : 1, world().rank());
  std::string error;
  try {
    first ? work(part) : other(part);
  } catch (const std::exception &caught) {
    error = caught.what();
  }
  world().agree([&] {
    if (!error.empty())
      throw Error(error);
  });
}

template <class Work> void on_part(int size, Work work) {
  beside(size, work, [](const Communicator &) {});
}

class IoMatrix : public testing::TestWithParam<std::string> {
protected:
  test::SharedFolder made;
  const std::string &folder = made;
  /// What each rank has read from the previous engine, by the numbers of writers and readers.
  static std::map<std::pair<int, int>, std::string> before;
};

std::map<std::pair<int, int>, std::string> IoMatrix::before;

TEST_P(IoMatrix, AnyDecompositionReadsWhatAnyOtherWrote) {
  ASSERT_EQ(world().size(), 6) << "this test wants six ranks";
  const IoConfiguration &how = io_configuration(GetParam());
  for (const int some : writers) {
    const std::string path = fmt::format("{}/{}{}", folder, some, io_suffix(how.engine));
    on_part(some, [&](const Communicator &part) { write_series(path, how, part); });
    for (const int others : readers) {
      SCOPED_TRACE(fmt::format("{} writers, {} readers", some, others));
      on_part(others, [&](const Communicator &part) {
        const std::string found = read_series(path, part);
        const auto [entry, first] = before.try_emplace({some, others}, found);
        EXPECT_TRUE(first || entry->second == found) << "not what the engine before gave";
      });
    }
  }
}

TEST(IoStream, AnyDecompositionReadsWhatAnyOtherSends) {
  ASSERT_EQ(world().size(), 6) << "this test wants six ranks";
  if (!TAILRACE_HAVE_ADIOS2)
    GTEST_SKIP() << "this Tailrace was built without ADIOS2";
  const test::SharedFolder folder;
  for (const int some : {1, 2, 4}) {
    SCOPED_TRACE(fmt::format("{} writers, {} readers", some, 6 - some));
    const std::string path = fmt::format("{}/stream{}", std::string(folder), some);
    beside(
        some, [&](const Communicator &part) { write_series(path, {"sst", {{"wait_for_reader", "60"}}}, part); },
        [&](const Communicator &part) {
          const Decomposition parts = share_points(part);
          Series in("sst:" + path, Mode::read, part);
          std::string digest;
          for (std::size_t step = 0; in.next_step(60); ++step) {
            expect_stretched_grid(in);
            expect_box<float>(in, step, "single", parts.box(Pencil::y), digest);
            expect_box<double>(in, step, "double", parts.box(Pencil::z), digest);
          }
          EXPECT_EQ(in.steps().size(), pencils.size() * halos.size());
          in.close();
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, IoMatrix, testing::ValuesIn(io_configuration_names()),
                         [](const auto &parameter) { return parameter.param; });

} // namespace
