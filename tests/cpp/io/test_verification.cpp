// Tests `verify` with descriptions that do not match their checksums. The engine returns what the test gives it.

#include "support.hpp"
#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/engine/verification.hpp>

#include <gtest/gtest.h>

#include <algorithm>

using namespace tailrace;
using namespace tailrace::grid;
using namespace tailrace::io;

namespace {

/// Returns one step, whose values are all zero.
class TellingEngine final : public StepSource {
public:
  TellingEngine(std::vector<VariableInfo> variables, std::string checksums)
      : variables_(std::move(variables)), checksums_(std::move(checksums)) {}
  std::vector<StepInfo> steps() const override { return {{7, 0.5}}; }
  void close() override {}
  std::optional<GridDescription> grid() const override { return std::nullopt; }
  Attributes attributes() const override { return {}; }
  std::vector<VariableInfo> variables(std::size_t) const override { return variables_; }
  Scalars scalars(std::size_t) const override { return {}; }
  std::string checksums(std::size_t) const override { return checksums_; }
  void read(std::size_t, const VariableInfo &variable, const Box &box, void *data) const override {
    std::fill_n(static_cast<char *>(data), static_cast<std::size_t>(box.size()) * size_of(variable.type), '\0');
  }

private:
  std::vector<VariableInfo> variables_;
  std::string checksums_;
};

std::vector<std::string> verify(const std::vector<VariableInfo> &variables, const std::string &checksums) {
  return verify_step(TellingEngine(variables, checksums), test::world(), 0);
}

/// The checksums of "ux": 2 x 2 x 2 zeros in two blocks.
std::string sums() {
  const std::vector<double> zeros(4);
  RunningChecksum sum;
  sum.add(zeros.data(), 32);
  const std::string text = sum.text();
  return R"({"ux":[[0,0,0,1,2,2,")" + text + R"("],[1,0,0,1,2,2,")" + text + R"("]]})";
}

TEST(Verification, FindsWhatDoesNotFitTheChecksums) {
  const VariableInfo ux{"ux", Type::float64, {2, 2, 2}, false};
  EXPECT_TRUE(verify({ux}, sums()).empty());
  EXPECT_TRUE(verify({ux}, "").empty()); // no checksums were stored
  EXPECT_TRUE(verify({ux, {"uy", Type::float64, {2, 2, 2}, false}}, sums()).empty());

  for (const std::string text : {"{", "[]", R"({"ux": 3})", R"({"ux": [[0, 0, 0, 2, 2, 2]]})",
                                 R"({"ux": [[0, 0, 0, 2, 2, 2, 7]]})", R"({"ux": [[0, 0, 0.5, 2, 2, 2, "0"]]})"})
    EXPECT_EQ(verify({ux}, text), std::vector<std::string>{"the checksums of step 7 are damaged"}) << text;

  const auto gone = verify({{"uX", Type::float64, {2, 2, 2}, false}}, sums());
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], "ux: step 7 has its checksums, and it is not there");

  const auto grown = verify({{"ux", Type::float64, {2, 2, std::int64_t{1} << 53}, false}}, sums());
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_NE(grown[0].find("ux: step 7 has checksums of 8 points, and its shape is 2 x 2 x"), std::string::npos);

  std::string other = sums();
  other[other.find(",\"") + 2] ^= 1; // a letter of the first checksum
  EXPECT_EQ(verify({ux}, other),
            std::vector<std::string>{"ux: block (0:2, 0:2, 0:1) of step 7 differs from its checksum"});

  const auto shrunk = verify({{"ux", Type::float64, {2, 2, 1}, false}}, sums());
  EXPECT_EQ(shrunk.size(), 2u); // a block outside the array, and too many points
}

TEST(Verification, NamesTheVariablesWithoutChecksums) {
  const VariableInfo ux{"ux", Type::float64, {2, 2, 2}, false}, uy{"uy", Type::float64, {2, 2, 2}, false},
      list{"p", Type::int32, {3, 0, 1}, true};
  const auto unchecked = [](const std::vector<VariableInfo> &variables, const std::string &text) {
    return unchecked_variables(TellingEngine(variables, text), 0);
  };
  EXPECT_EQ(unchecked({ux, uy, list}, sums()), std::vector<std::string>{"uy"}) << "a list without rows needs none";
  EXPECT_EQ(unchecked({ux, uy}, ""), (std::vector<std::string>{"ux", "uy"}));
  EXPECT_TRUE(unchecked({ux}, "{").empty()) << "verify tells that damage";
}

} // namespace
