#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/storage/json_log.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using namespace tailrace::test;
using nlohmann::json;

namespace {

/// Texts of numbers that are no int64: the library would cut them off, take them modulo 2^64, or do anything.
const std::vector<std::string> no_integers{"1e308", "-1e308", "0.5", "9223372036854775808", "18446744073709551615",
                                           "null",  "\"1\"",  "true"};

} // namespace

TEST(WholeNumbers, AreNotMadeOfOthers) {
  EXPECT_EQ(whole_number(json::parse("9223372036854775807")), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole_number(json::parse("-9223372036854775808")), std::numeric_limits<std::int64_t>::min());
  for (const auto &text : no_integers) {
    EXPECT_THROW(whole_number(json::parse(text)), json::exception) << text;
    EXPECT_THROW(index3_from_json(json::parse("[1, " + text + ", 1]")), json::exception) << text;
    EXPECT_THROW(sizes_from_json(json::parse(R"({"data.0": )" + text + "}")), json::exception) << text;
    EXPECT_THROW(lists_from_json(json::parse(R"({"a": {"type": "float64", "columns": 1, "rows": )" + text + "}}")),
                 json::exception)
        << text;
    EXPECT_THROW(grid_from_json(
                     json::parse(R"({"points": [1, 1, )" + text + R"(], "origin": [0, 0, 0], "spacing": [1, 1, 1]})")),
                 json::exception)
        << text;
    EXPECT_THROW(check_blocks(json::parse(R"({"blocks": [[0, 0, 0, 0, 0, 1, 1, )" + text + "]]}"),
                              {"u", Type::float64, {1, 1, 1}}, 1),
                 json::exception)
        << text;
  }
  EXPECT_THROW(sizes_from_json(json::parse(R"({"data.0": -1})")), json::exception);
}

TEST(WholeNumbers, OfAttributesAndScalarsKeepTheirValue) {
  for (const std::string text : {"9223372036854775808", "18446744073709551615"}) {
    EXPECT_THROW(attributes_from_json(json::parse(R"({"a": )" + text + "}")), json::exception) << text;
    EXPECT_THROW(attributes_from_json(json::parse(R"({"a": [1, )" + text + "]}")), json::exception) << text;
    EXPECT_THROW(scalars_from_json(json::parse(R"({"a": )" + text + "}")), json::exception) << text;
  }
  EXPECT_EQ(std::get<double>(scalars_from_json(json::parse(R"({"a": 1e308})")).at("a")), 1e308);
}

/// A description of a series is checked where it is opened, with the file and the fault.
TEST(WholeNumbers, OfASidecarAreChecked) {
  const SharedFolder folder;
  const std::string path = std::string(folder) + "/run";
  {
    Series out(path, Mode::write, Communicator(MPI_COMM_SELF));
    out.begin_step(1, 0.5);
    const double value = 1;
    out.write("u", &value, {{1, 1, 1}, {{0, 0, 0}, {1, 1, 1}}, {{0, 0, 0}, {1, 1, 1}}});
    out.end_step();
    out.close();
  }
  StepLog log(path + "/series.jsonl");
  std::vector<json> sound;
  for (const auto &line : log.load().lines)
    sound.push_back(line.object);
  const std::vector<std::string> places{"/0/version", "/1/index", "/1/number", "/1/variables/0/shape/1"};
  for (const auto &place : places)
    for (const auto &text : no_integers) {
      json damaged = sound;
      damaged[json::json_pointer(place)] = json::parse(text);
      log.replace(damaged.get<std::vector<json>>(), false);
      const std::string told =
          error_of<IoError>([&] { const Series in(path, Mode::read, Communicator(MPI_COMM_SELF)); });
      EXPECT_TRUE(has(told, path) && has(told, "expected a whole number")) << place << " = " << text << ": " << told;
    }
}
