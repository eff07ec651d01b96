// Parameters of engines: what each kind of value may be, and what is said of those that nobody takes.
#include "io/thrown.hpp"
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/support/error.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

using namespace tailrace;
using namespace tailrace::io;
using test::error_of;

namespace {

using Texts = std::map<std::string, std::string>;

TEST(Parameters, TextsMayHaveChoices) {
  Parameters parameters({{"a", "one"}, {"b", "four"}});
  EXPECT_EQ(parameters.text("a", "two", {"one", "two"}), "one");
  EXPECT_EQ(parameters.text("c", "no choice", {"one", "two"}), "no choice") << "a default needs not be one";
  EXPECT_EQ(parameters.text("b", ""), "four");
  EXPECT_EQ(error_of<InputError>([&] { parameters.text("b", "one", {"one", "two"}); }),
            "parameter b = 'four': expected one of one, two");
}

TEST(Parameters, FlagsHaveFourWords) {
  for (const std::string word : {"true", "ON", "Yes", "1"})
    EXPECT_TRUE(Parameters({{"a", word}}).flag("a", false)) << word;
  for (const std::string word : {"FALSE", "off", "No", "0"})
    EXPECT_FALSE(Parameters({{"a", word}}).flag("a", true)) << word;
  EXPECT_TRUE(Parameters(Texts{}).flag("a", true));
  EXPECT_FALSE(Parameters(Texts{}).flag("a", false));
  for (const std::string word : {"", "2", "tru", "true "})
    EXPECT_EQ(error_of<InputError>([&] { Parameters({{"a", word}}).flag("a", true); }),
              "parameter a = '" + word + "': expected true or false");
}

TEST(Parameters, NumbersAreWholeAndHaveALeast) {
  const auto number = [](const std::string &text) { return Parameters({{"a", text}}).number("a", 9, -1); };
  EXPECT_EQ(number("-1"), -1) << "the least itself";
  EXPECT_EQ(number("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(Parameters(Texts{}).number("a", 9, -1), 9);
  for (const std::string text : {"-2", "", "1.5", "1 ", " 1", "+1", "0x10", "9223372036854775808", "one"})
    EXPECT_EQ(error_of<InputError>([&] { number(text); }),
              "parameter a = '" + text + "': expected a whole number, at least -1");
}

TEST(Parameters, OfALibraryAreTakenByNameOrPrefix) {
  Parameters parameters({{"STATSLEVEL", "0"}, {"hint:", "none"}, {"hint:cb_nodes", "4"}, {"hints:me", "x"}});
  EXPECT_EQ(parameters.pass_through({"StatsLevel", "Threads"}), (Texts{{"StatsLevel", "0"}}));
  EXPECT_EQ(parameters.prefixed("hint:"), (Texts{{"cb_nodes", "4"}})) << "a prefix alone is no name";
  EXPECT_EQ(error_of<InputError>([&] { parameters.finish("raw"); }),
            "engine raw has no parameter 'hint:'; it knows StatsLevel, Threads, hint:NAME");
}

TEST(Parameters, ThatNobodyTookAreErrors) {
  Parameters parameters({{"checksum", "on"}, {"sync", "on"}});
  parameters.flag("sync", false);
  EXPECT_EQ(error_of<InputError>([&] { parameters.finish("raw"); }),
            "engine raw has no parameter 'checksum'; it knows sync");
  parameters.flag("checksums", false);
  EXPECT_EQ(error_of<InputError>([&] { parameters.finish("raw"); }),
            "engine raw has no parameter 'checksum'; did you mean 'checksums'?");
  parameters.flag("checksum", false);
  parameters.finish("raw");
}

TEST(Parameters, TheNearestIsLessThanThreeOrHalfItsLettersAway) {
  EXPECT_EQ(nearest("raw", {"rxy"}), "rxy") << "two letters are others";
  EXPECT_EQ(nearest("raw", {"xyz"}), "") << "three are";
  EXPECT_EQ(nearest("abcdefgh", {"abcdexyz"}), "abcdexyz");
  EXPECT_EQ(nearest("abcdefgh", {"abcdwxyz"}), "") << "half of them are";
  EXPECT_EQ(nearest("raw", {"rax", "rawx", "RAW"}), "RAW") << "the case does not count";
  EXPECT_EQ(nearest("raw", {"rax", "ray"}), "rax") << "the first of several";
  EXPECT_EQ(nearest("abc", {"xabc", "bc"}), "xabc") << "a letter more or less is one step";
  EXPECT_EQ(nearest("abcd", {"ab"}), "ab") << "two letters less";
  EXPECT_EQ(nearest("raw", {}), "");
  EXPECT_EQ(lower_case("BP5_x"), "bp5_x");
}

} // namespace
