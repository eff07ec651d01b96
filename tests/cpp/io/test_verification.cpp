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

  const auto gone = verify({{"uX", Type::float64, {2, 2, 2}, false}}, sums());
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], "ux: step 7 has its checksums, and it is not there");

  const auto grown = verify({{"ux", Type::float64, {2, 2, std::int64_t{1} << 53}, false}}, sums());
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_NE(grown[0].find("ux: step 7 has checksums of 8 points, and its shape is 2 x 2 x"), std::string::npos);

  const auto shrunk = verify({{"ux", Type::float64, {2, 2, 1}, false}}, sums());
  EXPECT_EQ(shrunk.size(), 2u); // a block outside the array, and too many points
}

} // namespace
