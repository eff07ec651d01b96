#include "support.hpp"
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::test;

namespace {

/// The text of the InputError that `work` throws, or an empty text.
template <class Work> std::string refusal(Work work) {
  try {
    work();
  } catch (const InputError &error) {
    return error.what();
  }
  return "";
}

void expect_text(const std::string &text, const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << text;
}

} // namespace

TEST(PartStart, SharesEvenlyLargerPartsFirst) {
  for (const std::int64_t n : {0, 1, 5, 16, 17, 97, 1000})
    for (const int parts : {1, 2, 3, 5, 7, 13, 16, 101}) {
      EXPECT_EQ(part_start(n, parts, 0), 0);
      EXPECT_EQ(part_start(n, parts, parts), n);
      std::int64_t before = n + 1;
      for (int p = 0; p < parts; ++p) {
        const std::int64_t size = part_start(n, parts, p + 1) - part_start(n, parts, p);
        EXPECT_TRUE(size == n / parts || size == n / parts + 1) << n << " over " << parts << ", part " << p;
        EXPECT_LE(size, before) << n << " over " << parts << ", part " << p;
        before = size;
      }
    }
}

TEST(PartStart, DoesNotOverflowOnLargeGrids) {
  const std::int64_t n = std::int64_t{1} << 40;
  EXPECT_EQ(part_start(n, 1 << 20, (1 << 20) - 1), n - (std::int64_t{1} << 20));
}

TEST(ProcessGrid, NumbersRanksRowByRow) {
  for (const Processes &grid : every_process_grid()) {
    EXPECT_EQ(grid->row() * grid->cols() + grid->col(), world().rank());
    EXPECT_EQ(grid->across_rows().size(), grid->rows());
    EXPECT_EQ(grid->across_rows().rank(), grid->row());
    EXPECT_EQ(grid->across_cols().size(), grid->cols());
    EXPECT_EQ(grid->across_cols().rank(), grid->col());
    // Ranks that exchange data in X<->Y have the same column, ranks that exchange data in Y<->Z the same row.
    EXPECT_EQ(grid->across_rows().max(std::int64_t{grid->col()}), grid->col());
    EXPECT_EQ(grid->across_cols().max(std::int64_t{grid->row()}), grid->row());
  }
}

TEST(ProcessGrid, ZeroMeansWhatTheOtherLeaves) {
  const int size = world().size();
  const ProcessGrid slab(world(), 0, 0), rows(world(), size, 0), cols(world(), 0, size);
  EXPECT_EQ(std::pair(slab.rows(), slab.cols()), std::pair(1, size));
  EXPECT_EQ(std::pair(rows.rows(), rows.cols()), std::pair(size, 1));
  EXPECT_EQ(std::pair(cols.rows(), cols.cols()), std::pair(1, size));
}

TEST(ProcessGrid, RefusesWhatDoesNotFit) {
  const int size = world().size();
  for (const auto &[rows, cols] : {std::pair{size + 1, 1}, {1, size + 1}, {size + 1, 0}, {0, size + 1}}) {
    const int r = rows, c = cols;
    expect_text(refusal([&] { ProcessGrid(world(), r, c); }),
                {std::to_string(r) + " x " + std::to_string(c), std::to_string(size) + " ranks"});
  }
  expect_text(refusal([&] { ProcessGrid(world(), -1, 1); }), {"-1", "negative"});
  expect_text(refusal([&] { ProcessGrid(world(), 0, -2); }), {"-2", "negative"});
  expect_text(refusal([&] { ProcessGrid(world(), -size, -1); }), {"negative"});
}

TEST(Decomposition, CoversEveryPointOnce) {
  const Index3 shapes[] = {{17, 11, 13}, {7, 6, 31}, {6, 6, 6}, {97, 7, 8}};
  for (const Processes &processes : every_process_grid())
    for (const Index3 &shape : shapes)
      for (const Pencil pencil : {Pencil::x, Pencil::y, Pencil::z}) {
        SCOPED_TRACE(name(*processes));
        const Decomposition decomposition(processes, shape);
        std::vector<int> covered(static_cast<std::size_t>(product(shape)), 0);
        for (int row = 0; row < processes->rows(); ++row)
          for (int col = 0; col < processes->cols(); ++col) {
            const Box box = decomposition.box(pencil, row, col);
            EXPECT_FALSE(box.empty());
            EXPECT_EQ(box.count[static_cast<int>(pencil)], shape[static_cast<int>(pencil)]);
            for_each_point(box, [&](const Index3 &p, std::int64_t) { ++covered[linear(shape, p)]; });
          }
        EXPECT_EQ(std::count(covered.begin(), covered.end(), 1), product(shape));
        EXPECT_EQ(decomposition.box(pencil), decomposition.box(pencil, processes->row(), processes->col()));
      }
}

TEST(Decomposition, RowsAndColumnsSplitTheRightDirections) {
  const Index3 shape{24, 48, 36};
  for (const Processes &processes : every_process_grid()) {
    const Decomposition decomposition(processes, shape);
    const std::int64_t rows = processes->rows(), cols = processes->cols();
    EXPECT_EQ(decomposition.box(Pencil::x).count, (Index3{24, 48 / rows, 36 / cols}));
    EXPECT_EQ(decomposition.box(Pencil::y).count, (Index3{24 / rows, 48, 36 / cols}));
    EXPECT_EQ(decomposition.box(Pencil::z).count, (Index3{24 / rows, 48 / cols, 36}));
  }
}

TEST(Decomposition, TooManyRanksIsAClearError) {
  const int size = world().size();
  if (size == 1)
    GTEST_SKIP() << "needs at least two ranks";
  const std::int64_t few = size - 1, many = 50;
  const auto rows = std::make_shared<const ProcessGrid>(world(), size, 1);
  const auto cols = std::make_shared<const ProcessGrid>(world(), 1, size);
  const std::string limit = "at most " + std::to_string(few), count = std::to_string(size);
  for (const Index3 &shape : {Index3{few, many, many}, Index3{many, few, many}})
    expect_text(refusal([&] { Decomposition(rows, shape); }), {count + " rows", limit, "fewer ranks"});
  for (const Index3 &shape : {Index3{many, few, many}, Index3{many, many, few}})
    expect_text(refusal([&] { Decomposition(cols, shape); }), {count + " cols", limit, "fewer ranks"});
  EXPECT_NO_THROW(Decomposition(rows, {size, size, 1}));
  EXPECT_NO_THROW(Decomposition(cols, {1, size, size}));
  EXPECT_NO_THROW(Decomposition(rows, {few, many, many}, true));
}

TEST(Decomposition, EmptyPartsOnlyWhereAllowed) {
  const Index3 shape{2, 1, 3};
  for (const Processes &processes : every_process_grid()) {
    const Decomposition decomposition(processes, shape, true);
    for (const Pencil pencil : {Pencil::x, Pencil::y, Pencil::z})
      EXPECT_EQ(world().sum(decomposition.box(pencil).size()), product(shape));
  }
}

TEST(Decomposition, RowsSplitPointsInPairs) {
  const int size = world().size();
  const auto processes = std::make_shared<const ProcessGrid>(world(), size, 1);
  for (const std::int64_t points : {std::int64_t{2} * size, std::int64_t{2} * size + 1, std::int64_t{7} * size + 3}) {
    const Decomposition decomposition(processes, {points, points, 8});
    for (const Pencil pencil : {Pencil::x, Pencil::y, Pencil::z}) {
      const Box box = decomposition.box(pencil);
      const int d = pencil == Pencil::x ? 1 : 0;
      EXPECT_EQ(box.start[d] % 2, 0) << points;
      EXPECT_GE(box.count[d], 2) << points;
      EXPECT_EQ(world().sum(box.count[d]), points);
    }
  }
}

TEST(Decomposition, ListsTheProcessGridsThatFit) {
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(Decomposition::process_grids(1, {8, 8, 8}), (Pairs{{1, 1}}));
  EXPECT_EQ(Decomposition::process_grids(12, {100, 100, 100}),
            (Pairs{{1, 12}, {2, 6}, {3, 4}, {4, 3}, {6, 2}, {12, 1}}));
  EXPECT_EQ(Decomposition::process_grids(13, {100, 100, 100}), (Pairs{{1, 13}, {13, 1}}));
  EXPECT_EQ(Decomposition::process_grids(12, {3, 100, 100}), (Pairs{{1, 12}})); // rows split x, in pairs if possible
  EXPECT_EQ(Decomposition::process_grids(12, {9, 100, 100}), (Pairs{{1, 12}, {2, 6}, {3, 4}, {4, 3}}));
  EXPECT_EQ(Decomposition::process_grids(6, {2, 100, 3}), (Pairs{{2, 3}}));
  EXPECT_EQ(Decomposition::process_grids(12, {100, 100, 4}), (Pairs{{3, 4}, {4, 3}, {6, 2}, {12, 1}})); // cols split z
  EXPECT_EQ(Decomposition::process_grids(12, {100, 5, 100}), (Pairs{{3, 4}, {4, 3}}));                  // both split y
  EXPECT_TRUE(Decomposition::process_grids(13, {12, 12, 12}).empty());
}
