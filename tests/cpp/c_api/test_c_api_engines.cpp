// Tests of the C interface with several engines: contents other than arrays, and errors that the engines detect.
#include "c_api/c_api_test.hpp"
#include "io/configurations.hpp"
#include <tailrace/io/engine_traits.hpp>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace tailrace;
using namespace tailrace::test;
namespace fs = std::filesystem;

namespace {

/// Reads back, through the C interface, what the engines with lists and texts have stored.
class CApiEngines : public CApi, public testing::WithParamInterface<std::string> {
protected:
  int open_here(const char *mode) { return open(mode, GetParam().c_str(), "out"); }
  void start_step() {
    ASSERT_EQ(open_here("w"), 0) << text();
    ASSERT_EQ(tailrace_begin_step(series, 1, 0.5), 0) << text();
  }
  void finish_and_reopen() {
    ASSERT_EQ(tailrace_end_step(series), 0) << text();
    ASSERT_EQ(tailrace_close(series), 0) << text();
    ASSERT_EQ(open_here("r"), 0) << text();
  }
};

TEST_P(CApiEngines, fourDimensionsOfEveryTypeAreComponents) {
  const std::array<int64_t, 4> whole{11, 7, 13, 3}, from{start[0], start[1], start[2], 0},
      n{count[0], count[1], count[2], 3}, ghosts{1, 0, 2, 0};
  start_step();
  const auto write = [&](auto number, auto writer, const char *name) {
    using T = decltype(number);
    std::vector<T> f;
    for (int c = 0; c < 3; ++c)
      for (const T one : values<T>(start, count, {1, 0, 2}))
        f.push_back(one == T(-1) ? one : static_cast<T>(one + static_cast<T>(10000 * c)));
    ASSERT_EQ(writer(series, name, 4, whole.data(), from.data(), n.data(), ghosts.data(), f.data()), 0) << text();
  };
  write(float{}, tailrace_write_float, "f");
  write(double{}, tailrace_write_double, "d");
  write(int32_t{}, tailrace_write_int32, "i");
  write(int64_t{}, tailrace_write_int64, "l");
  const bool culprit = comm.rank() == comm.size() - 1;
  const std::array<int64_t, 4> other{11, 7, 13, culprit ? 2 : 3}, fewer{count[0], count[1], count[2], other[3]};
  const std::vector<double> data(3 * 11 * 7 * 13);
  if (comm.size() > 1) {
    expect_error(tailrace_write_double(series, "x", 4, other.data(), from.data(), fewer.data(), nullptr, data.data()),
                 TAILRACE_INPUT_ERROR, "components");
  }
  finish_and_reopen();
  const auto read = [&](auto number, auto reader, const char *name, int type) {
    using T = decltype(number);
    int64_t components = 0;
    ASSERT_EQ(tailrace_components(series, 0, name, &components), 0) << text();
    EXPECT_EQ(components, 3);
    int found = 0;
    ASSERT_EQ(tailrace_variable(series, 0, (std::string(name) + "_3").c_str(), nullptr, &found, nullptr), 0) << text();
    EXPECT_EQ(found, type);
    // Every rank reads a different box, and a different number of components.
    const int64_t wanted = 1 + comm.rank() % 2;
    const Three corner{2, 3, 4}, size{5, 1, 6};
    const std::array<int64_t, 4> at{2, 3, 4, 1}, box{5, 1, 6, wanted};
    std::vector<T> part(static_cast<std::size_t>(30 * wanted)), expected;
    ASSERT_EQ(reader(series, 0, name, 4, at.data(), box.data(), part.data()), 0) << text();
    for (int64_t c = 1; c <= wanted; ++c)
      for (const T one : values<T>(corner, size))
        expected.push_back(static_cast<T>(one + static_cast<T>(10000 * c)));
    EXPECT_EQ(part, expected);
  };
  read(float{}, tailrace_read_float, "f", TAILRACE_FLOAT32);
  read(double{}, tailrace_read_double, "d", TAILRACE_FLOAT64);
  read(int32_t{}, tailrace_read_int32, "i", TAILRACE_INT32);
  read(int64_t{}, tailrace_read_int64, "l", TAILRACE_INT64);
  const std::array<int64_t, 4> far{0, 0, 0, 2}, two{1, 1, 1, 2};
  double ignored[2];
  expect_error(tailrace_read_double(series, 0, "d", 4, far.data(), two.data(), ignored), TAILRACE_INPUT_ERROR,
               "has 3 components");
  expect_error(tailrace_read_double(series, 0, "none", 4, far.data(), two.data(), ignored), TAILRACE_INPUT_ERROR,
               "no variable 'none_1'");
  int32_t whole_number = 0;
  expect_error(tailrace_read_int32(series, 0, "d_1", 3, far.data(), two.data(), &whole_number), TAILRACE_INPUT_ERROR,
               "cannot be read as int32");
}

/// The numbers of types in tailrace.h, each with its bytes.
const std::vector<std::pair<int, std::size_t>> types{
    {TAILRACE_FLOAT16, 2},   {TAILRACE_FLOAT32, 4},    {TAILRACE_FLOAT64, 8}, {TAILRACE_INT8, 1},
    {TAILRACE_INT16, 2},     {TAILRACE_INT32, 4},      {TAILRACE_INT64, 8},   {TAILRACE_UINT8, 1},
    {TAILRACE_UINT16, 2},    {TAILRACE_UINT32, 4},     {TAILRACE_UINT64, 8},  {TAILRACE_BOOL, 1},
    {TAILRACE_COMPLEX64, 8}, {TAILRACE_COMPLEX128, 16}};

TEST_P(CApiEngines, EveryTypeKeepsItsBitsOrIsRefusedByName) {
  const bool adios2 = io::engine_traits(GetParam()).library == "ADIOS2";
  const std::size_t mine = static_cast<std::size_t>(count[0] * count[1] * count[2]), all = 11 * 7 * 13;
  const auto bits = [](std::size_t points, std::size_t bytes, int64_t first) { // 0 or 1 in each byte, so that all fit
    std::vector<unsigned char> each(points * bytes);
    for (std::size_t i = 0; i < each.size(); ++i)
      each[i] = static_cast<unsigned char>((i / bytes + i % bytes + static_cast<std::size_t>(first)) % 3 == 0);
    return each;
  };
  start_step();
  for (const auto &[type, bytes] : types) {
    const std::string name = "v" + std::to_string(type + 200);
    const int status = tailrace_write(series, name.c_str(), type, 3, shape.data(), start.data(), count.data(), nullptr,
                                      bits(mine, bytes, comm.rank()).data());
    if (adios2 && (type == TAILRACE_FLOAT16 || type == TAILRACE_BOOL))
      expect_error(status, TAILRACE_INPUT_ERROR, name + ": the engine " + GetParam() + " stores no ");
    else
      ASSERT_EQ(status, 0) << text();
  }
  expect_error(
      tailrace_write(series, "x", 3, 3, shape.data(), start.data(), count.data(), nullptr, bits(mine, 8, 0).data()),
      TAILRACE_INPUT_ERROR, "x: unknown type 3");
  finish_and_reopen();
  for (const auto &[type, bytes] : types) {
    const std::string name = "v" + std::to_string(type + 200);
    int found = 0;
    if (tailrace_variable(series, 0, name.c_str(), nullptr, &found, nullptr) != 0) {
      EXPECT_TRUE(adios2 && (type == TAILRACE_FLOAT16 || type == TAILRACE_BOOL)) << name;
      continue;
    }
    EXPECT_EQ(found, type);
    std::vector<unsigned char> part(mine * bytes);
    ASSERT_EQ(tailrace_read(series, 0, name.c_str(), type, 3, start.data(), count.data(), part.data()), 0) << text();
    EXPECT_EQ(part, bits(mine, bytes, comm.rank())) << name;
    std::vector<double> real(all);
    const Three zero{0, 0, 0};
    const int status =
        tailrace_read(series, 0, name.c_str(), TAILRACE_FLOAT64, 3, zero.data(), shape.data(), real.data());
    if (type == TAILRACE_COMPLEX64 || type == TAILRACE_COMPLEX128)
      expect_error(status, TAILRACE_INPUT_ERROR, "cannot be read as float64");
    else
      EXPECT_EQ(status, 0) << text();
  }
}

TEST_P(CApiEngines, ListsOfTextsAreAttributes) {
  const std::array<const char *, 3> given{"ux", "", "two words"};
  start_step();
  ASSERT_EQ(tailrace_set_attribute_texts(series, "names", 3, given.data()), 0) << text();
  expect_error(tailrace_set_attribute_texts(series, "none", 0, given.data()), TAILRACE_INPUT_ERROR, "at least 1");
  expect_error(tailrace_set_attribute_texts(series, "none", 2, nullptr), TAILRACE_INPUT_ERROR, "values");
  ASSERT_EQ(tailrace_set_attribute_text(series, "one", "x"), 0) << text();
  finish_and_reopen();
  int type = -1;
  int64_t number = 0;
  ASSERT_EQ(tailrace_attribute(series, "names", &type, &number), 0) << text();
  EXPECT_EQ(type, TAILRACE_TEXT);
  EXPECT_EQ(number, 3);
  const char *found = nullptr;
  for (std::size_t i = 0; i < given.size(); ++i) {
    ASSERT_EQ(tailrace_get_attribute_text_at(series, "names", static_cast<int64_t>(i), &found), 0) << text();
    EXPECT_STREQ(found, given[i]);
  }
  ASSERT_EQ(tailrace_get_attribute_text_at(series, "one", 0, &found), 0) << text();
  EXPECT_STREQ(found, "x");
  expect_error(tailrace_get_attribute_text_at(series, "names", 3, &found), TAILRACE_INPUT_ERROR, "has 3 texts");
  expect_error(tailrace_get_attribute_text(series, "names", &found), TAILRACE_INPUT_ERROR, "is no single text");
  double real = 0;
  expect_error(tailrace_get_attribute(series, "names", 1, &real), TAILRACE_INPUT_ERROR, "names");
}

TEST_P(CApiEngines, listsHaveAsManyRowsAsEachRankLikes) {
  const int64_t mine = comm.rank() % 3; // ranks 0 and 3 have no rows
  std::vector<float> rows;
  for (int64_t r = 0; r < mine; ++r)
    rows.insert(rows.end(), {static_cast<float>(comm.rank()), static_cast<float>(r)});
  std::vector<int64_t> numbers(static_cast<std::size_t>(mine + 1), comm.rank());
  start_step();
  ASSERT_EQ(tailrace_write_list(series, "particles", TAILRACE_FLOAT32, mine, 2, rows.data()), 0) << text();
  ASSERT_EQ(tailrace_write_list(series, "ids", TAILRACE_INT64, mine + 1, 1, numbers.data()), 0) << text();
  finish_and_reopen();
  std::vector<float> expected;
  for (int rank = 0; rank < comm.size(); ++rank)
    for (int r = 0; r < rank % 3; ++r)
      expected.insert(expected.end(), {static_cast<float>(rank), static_cast<float>(r)});
  Three found{};
  int type = 0, is_list = 0;
  ASSERT_EQ(tailrace_variable(series, 0, "particles", found.data(), &type, &is_list), 0) << text();
  EXPECT_EQ(found, (Three{2, static_cast<int64_t>(expected.size() / 2), 1}));
  EXPECT_EQ(type, TAILRACE_FLOAT32);
  EXPECT_EQ(is_list, 1);
  std::vector<float> all(expected.size());
  ASSERT_EQ(tailrace_read_list(series, 0, "particles", TAILRACE_FLOAT32, 0, found[1], all.data()), 0) << text();
  EXPECT_EQ(all, expected);
  int64_t last = -1;
  ASSERT_EQ(tailrace_variable(series, 0, "ids", found.data(), nullptr, nullptr), 0) << text();
  ASSERT_EQ(tailrace_read_list(series, 0, "ids", TAILRACE_INT64, found[1] - 1, 1, &last), 0) << text();
  EXPECT_EQ(last, comm.size() - 1);
  expect_error(tailrace_read_list(series, 0, "ids", TAILRACE_INT64, found[1], 1, &last), TAILRACE_INPUT_ERROR,
               "outside");
}

TEST_P(CApiEngines, scalarsAndAttributesKeepTheirTypes) {
  const std::array<double, 2> reals{0.5, 0.25};
  const std::array<int64_t, 3> integers{1, int64_t{1} << 60, -3};
  start_step();
  ASSERT_EQ(tailrace_write_scalar_int64(series, "big", (int64_t{1} << 60) + 1), 0) << text();
  ASSERT_EQ(tailrace_write_scalar_text(series, "note", "a \"text\"\nof two lines"), 0) << text();
  ASSERT_EQ(tailrace_write_scalar(series, "real", 0.125), 0) << text();
  ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr,
                                  values<double>(start, count).data()),
            0)
      << text();
  ASSERT_EQ(tailrace_set_attribute(series, "spacing", 2, reals.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_int64(series, "integers", 3, integers.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_int64(series, "one", 1, integers.data()), 0) << text();
  ASSERT_EQ(tailrace_set_attribute_text(series, "ux/units", "m/s"), 0) << text();
  finish_and_reopen();
  int64_t big = 0, attributes = 0, numbers = 0;
  int type = -1;
  double real = 0;
  const char *words = nullptr;
  ASSERT_EQ(tailrace_read_scalar_int64(series, 0, "big", &big), 0) << text();
  EXPECT_EQ(big, (int64_t{1} << 60) + 1);
  ASSERT_EQ(tailrace_read_scalar_text(series, 0, "note", &words), 0) << text();
  EXPECT_STREQ(words, "a \"text\"\nof two lines");
  ASSERT_EQ(tailrace_scalar_type(series, 0, "note", &type), 0) << text();
  EXPECT_EQ(type, TAILRACE_TEXT);
  ASSERT_EQ(tailrace_read_scalar(series, 0, "big", &real), 0) << "integers are numbers: " << text();
  expect_error(tailrace_read_scalar_int64(series, 0, "real", &big), TAILRACE_INPUT_ERROR, "is no integer");
  expect_error(tailrace_read_scalar(series, 0, "note", &real), TAILRACE_INPUT_ERROR, "is no number");
  std::array<double, 2> back{};
  std::array<int64_t, 3> back_integers{};
  ASSERT_EQ(tailrace_get_attribute(series, "spacing", 2, back.data()), 0) << text();
  EXPECT_EQ(back, reals);
  ASSERT_EQ(tailrace_attribute(series, "integers", &type, &numbers), 0) << text();
  EXPECT_EQ(type, TAILRACE_INT64);
  EXPECT_EQ(numbers, 3);
  ASSERT_EQ(tailrace_get_attribute_int64(series, "integers", 3, back_integers.data()), 0) << text();
  EXPECT_EQ(back_integers, integers);
  ASSERT_EQ(tailrace_get_attribute_int64(series, "one", 1, &big), 0) << text();
  EXPECT_EQ(big, 1);
  ASSERT_EQ(tailrace_get_attribute_text(series, "ux/units", &words), 0) << text();
  EXPECT_STREQ(words, "m/s");
  expect_error(tailrace_get_attribute(series, "spacing", 3, back.data()), TAILRACE_INPUT_ERROR, "has 2 numbers");
  expect_error(tailrace_get_attribute_text(series, "units", &words), TAILRACE_INPUT_ERROR, "no attribute 'units'");
  ASSERT_EQ(tailrace_attributes(series, &attributes), 0) << text();
  std::vector<std::string> names;
  for (int64_t i = 0; i < attributes; ++i) {
    ASSERT_EQ(tailrace_attribute_name(series, i, &words), 0) << text();
    names.emplace_back(words);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"integers", "one", "spacing", "ux/units"}));
}

TEST_P(CApiEngines, regionsDeferredWritesAndWhatIsThere) {
  auto data = values<double>(start, count);
  const Three plane{0, 3, 0}, thin{6, 1, 5}, every{2, 1, 3};
  start_step();
  ASSERT_EQ(tailrace_write_deferred(series, "later", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                    nullptr, data.data()),
            0)
      << text();
  ASSERT_EQ(tailrace_write_region(series, "plane", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                  nullptr, data.data(), plane.data(), thin.data(), every.data()),
            0)
      << text();
  finish_and_reopen();
  int64_t variables = 0, read = 0;
  ASSERT_EQ(tailrace_variables(series, 0, &variables), 0) << text();
  EXPECT_EQ(variables, 2);
  const char *words = nullptr;
  std::vector<std::string> names;
  for (int64_t i = 0; i < variables; ++i) {
    ASSERT_EQ(tailrace_variable_name(series, 0, i, &words), 0) << text();
    names.emplace_back(words);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"later", "plane"}));
  expect_error(tailrace_variable_name(series, 0, 2, &words), TAILRACE_INPUT_ERROR, "no number 2");
  const Three none{0, 0, 0};
  std::vector<double> whole(11 * 7 * 13), points(30), expected;
  ASSERT_EQ(tailrace_read_double(series, 0, "later", 3, none.data(), shape.data(), whole.data()), 0) << text();
  EXPECT_EQ(whole, values<double>(none, shape));
  ASSERT_EQ(tailrace_read_double(series, 0, "plane", 3, none.data(), thin.data(), points.data()), 0) << text();
  for (int64_t z = 0; z < 5; ++z)
    for (int64_t x = 0; x < 6; ++x)
      expected.push_back(value(2 * x, 3, 3 * z));
  EXPECT_EQ(points, expected);
  ASSERT_EQ(tailrace_verify(series, 0, &words), 0) << text();
  EXPECT_STREQ(words, "");
  double seconds = -1;
  ASSERT_EQ(tailrace_counters(series, nullptr, &read, nullptr), 0) << text();
  EXPECT_GE(read, 8 * (11 * 7 * 13 + 30));
  ASSERT_EQ(tailrace_seconds(series, "read", &seconds), 0) << text();
  EXPECT_GT(seconds, 0);
  expect_error(tailrace_seconds(series, "raed", &seconds), TAILRACE_INPUT_ERROR, "unknown phase 'raed'");
  ASSERT_EQ(tailrace_notes(series, &words), 0) << text();
}

TEST_P(CApiEngines, aDeferredArrayThatChangesIsAnError) {
  auto data = values<double>(start, count);
  start_step();
  ASSERT_EQ(tailrace_write_deferred(series, "later", TAILRACE_FLOAT64, 3, shape.data(), start.data(), count.data(),
                                    nullptr, data.data()),
            0)
      << text();
  if (comm.rank() == 0)
    data[0] += 1;
  expect_error(tailrace_end_step(series), TAILRACE_INPUT_ERROR, "'later' was changed");
}

TEST_P(CApiEngines, verifyNamesWhatIsDamaged) {
  const auto data = values<double>(start, count);
  start_step();
  ASSERT_EQ(tailrace_write_double(series, "ux", 3, shape.data(), start.data(), count.data(), nullptr, data.data()), 0);
  ASSERT_EQ(tailrace_end_step(series), 0) << text();
  ASSERT_EQ(tailrace_close(series), 0) << text();
  if (comm.rank() == 0)
    for (const auto &file : fs::recursive_directory_iterator(folder)) {
      if (!file.is_regular_file())
        continue;
      std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string pattern(reinterpret_cast<const char *>(&data.back()), sizeof(double));
      const std::string all{std::istreambuf_iterator<char>(bytes), {}};
      if (all.find(pattern) == std::string::npos)
        continue;
      bytes.clear();
      bytes.seekp(static_cast<std::streamoff>(all.find(pattern)));
      bytes.put('\x7f');
    }
  comm.barrier();
  ASSERT_EQ(open_here("r"), 0) << text();
  const char *words = nullptr;
  ASSERT_EQ(tailrace_verify(series, 0, &words), 0) << text();
  EXPECT_NE(comm.broadcast(words, 0).find("ux"), std::string::npos) << words;
}

// Add an engine here if it can store lists and texts.
INSTANTIATE_TEST_SUITE_P(Engines, CApiEngines,
                         testing::ValuesIn(io_built({"raw", "sion", "hdf5", "bp5", "adios_hdf5", "mpiio"})),
                         [](const auto &engine) { return engine.param; });

} // namespace
