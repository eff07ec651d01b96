#include "io/shared_folder.hpp"
#include "io/thrown.hpp"
#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/series.hpp>
#include <tailrace/io/sidecar/block_index.hpp>
#include <tailrace/io/storage/json_log.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <map>
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

TEST(Json, IsNestedAtMost64Times) {
  const auto nested = [](int depth, const std::string &inside) {
    return std::string(static_cast<std::size_t>(depth), '[') + inside +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  EXPECT_EQ(parse_json(nested(64, "")).size(), 1u);
  EXPECT_EQ(parse_json("[" + nested(63, "") + "," + nested(63, "") + "]").size(), 2u) << "beside each other";
  EXPECT_TRUE(has(error_of<json::exception>([&] { parse_json(nested(65, "")); }), "nested deeper than 64 times"));
  EXPECT_THROW(parse_json(nested(64, "{\"a\":1}")), json::exception);
  const std::string quoted = std::string(100, '[') + "\\\"" + std::string(100, '{') + "\\\\";
  EXPECT_EQ(parse_json(nested(64, "\"" + quoted + "\"")).dump(), nested(64, "\"" + quoted + "\""))
      << "what is in a text does not count";
  EXPECT_THROW(parse_json(nested(64, "\"]]\",[1]")), json::exception) << "nor does it close anything";
}

TEST(Json, KeepsAttributesAndScalars) {
  const double infinite = std::numeric_limits<double>::infinity();
  const Attributes attributes{{"text", std::string("a")},
                              {"whole", std::int64_t{1} << 60},
                              {"real", 0.5},
                              {"inf", infinite},
                              {"minus", -infinite},
                              {"wholes", std::vector<std::int64_t>{1, -2}},
                              {"reals", std::vector<double>{1.5, -infinite, infinite, 2}}};
  const json object = attributes_to_json(attributes);
  EXPECT_EQ(object.at("inf"), json::parse(R"({"real":"inf"})"));
  EXPECT_EQ(object.at("reals"), json::parse(R"([1.5,{"real":"-inf"},{"real":"inf"},2.0])"));
  EXPECT_EQ(attributes_from_json(json::parse(object.dump())), attributes);
  const Scalars scalars{{"text", std::string("a")}, {"whole", std::int64_t{-3}}, {"real", 2.0}, {"inf", infinite}};
  EXPECT_EQ(scalars_from_json(json::parse(scalars_to_json(scalars).dump())), scalars);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(scalars_to_json({{"a", nan}}), json::parse(R"({"a":{"real":"nan"}})"));
  for (const std::string text : {R"({"a":{"real":"nan"}})", R"({"a":null})"}) { // null in older files
    EXPECT_TRUE(std::isnan(std::get<double>(scalars_from_json(json::parse(text)).at("a"))));
    EXPECT_TRUE(std::isnan(std::get<double>(attributes_from_json(json::parse(text)).at("a"))));
  }
  EXPECT_TRUE(
      std::isnan(std::get<std::vector<double>>(attributes_from_json(json::parse(R"({"a":[1,null]})")).at("a"))[1]));
  EXPECT_EQ(sizes_from_json(json::parse(R"({"a": 0, "b": 7})")),
            (std::map<std::string, std::uintmax_t>{{"a", 0}, {"b", 7}}));
}

TEST(Json, KeepsGridsAndLists) {
  GridDescription grid{{4, 3, 2}, {0.5, 1, -2}, {0.1, 0.2, 0.3}, {}};
  EXPECT_FALSE(grid_to_json(grid).contains("coordinates"));
  EXPECT_EQ(grid_to_json(grid).at("points"), json::parse("[2, 3, 4]"));
  for (int turn = 0; turn < 2; ++turn) {
    const GridDescription again = grid_from_json(json::parse(grid_to_json(grid).dump()));
    EXPECT_EQ(again.points, grid.points);
    EXPECT_EQ(again.origin, grid.origin);
    EXPECT_EQ(again.spacing, grid.spacing);
    EXPECT_EQ(again.coordinates, grid.coordinates);
    grid.coordinates[1] = {0, 1, 3};
  }
  const auto lists =
      lists_from_json(lists_to_json({{"p", Type::float32, {2, 5, 1}, true}, {"q", Type::int64, {1, 0, 1}, true}}));
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].name, "p");
  EXPECT_EQ(lists[0].type, Type::float32);
  EXPECT_EQ(lists[0].shape, (Index3{2, 5, 1}));
  EXPECT_TRUE(lists[1].list);
  EXPECT_EQ(lists[1].shape, (Index3{1, 0, 1}));
}

/// Numbers of file 0 to 1; a block is offset, z, y, x, nz, ny, nx.
TEST(BlockIndex, BlocksLieInTheirFilesAndTheirShape) {
  const VariableInfo u{"u", Type::float64, {4, 3, 2}};
  const auto check = [&](const std::string &block) { check_blocks({{"blocks", {json::parse(block)}}}, u, 2); };
  check("[0, 0, 0, 0, 0, 2, 3, 4]");
  check("[1, 1152921504606846976, 1, 2, 3, 1, 1, 1]"); // the last point, and the largest offset
  for (const std::string block :
       {"[-1, 0, 0, 0, 0, 2, 3, 4]", "[2, 0, 0, 0, 0, 2, 3, 4]", "[0, -1, 0, 0, 0, 2, 3, 4]",
        "[0, 1152921504606846977, 0, 0, 0, 2, 3, 4]", "[0, 0, -1, 0, 0, 1, 1, 1]", "[0, 0, 0, -1, 0, 1, 1, 1]",
        "[0, 0, 0, 0, -1, 1, 1, 1]", "[0, 0, 2, 0, 0, 1, 1, 1]", "[0, 0, 0, 3, 0, 1, 1, 1]", "[0, 0, 0, 0, 4, 1, 1, 1]",
        "[0, 0, 0, 0, 0, 0, 3, 4]", "[0, 0, 0, 0, 0, 3, 3, 4]", "[0, 0, 0, 0, 0, 2, 3, 5]", "[0, 0, 0, 1, 0, 2, 3, 4]"})
    EXPECT_TRUE(has(error_of<IoError>([&] { check(block); }), "which do not lie in its shape 4 x 3 x 2")) << block;
  EXPECT_TRUE(
      has(error_of<IoError>([&] { check("[2, 7, 0, 1, 2, 1, 1, 1]"); }),
          "a block of u has number 2 of 2, offset 7 and the points [z, y, x, nz, ny, nx] = [0, 1, 2, 1, 1, 1]"));
}

TEST(BlockIndex, ABoxIsFilledByThePartsOfItsBlocks) {
  const VariableInfo u{"u", Type::float64, {4, 3, 2}};
  const json described{
      {"blocks", json::parse("[[1, 8, 1, 0, 0, 1, 3, 4], [0, 0, 0, 0, 0, 1, 3, 2], [0, 48, 0, 0, 2, 1, 3, 2]]")}};
  const auto found = blocks_that_meet(blocks_in_line(described), u, {{1, 0, 0}, {2, 3, 2}}, "x");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].number, 0) << "grouped by file";
  EXPECT_EQ(found[1].number, 0);
  EXPECT_EQ(found[2].number, 1);
  EXPECT_EQ(found[1].offset, 48);
  EXPECT_EQ(describe(found[0].part), "(1:2, 0:3, 0:1)");
  EXPECT_EQ(describe(found[1].block), "(2:4, 0:3, 0:1)");
  EXPECT_EQ(blocks_that_meet(blocks_in_line(described), u, {{2, 1, 0}, {2, 1, 1}}, "x").size(), 1u);
  EXPECT_TRUE(blocks_that_meet(blocks_in_line(described), u, {{0, 0, 0}, {0, 0, 0}}, "x").empty());
  json hole = described;
  hole["blocks"].erase(1);
  EXPECT_EQ(
      error_of<IoError>([&] { blocks_that_meet(blocks_in_line(hole), u, {{1, 0, 0}, {2, 3, 2}}, "run/series.jsonl"); }),
      "cannot read run/series.jsonl: the blocks of u hold 9 points of (1:3, 0:3, 0:2); expected 12");
}
