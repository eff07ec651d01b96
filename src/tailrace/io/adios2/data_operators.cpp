#include <tailrace/io/adios2/data_operators.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <tailrace/support/error.hpp>

#include <adios2.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tailrace::io {

namespace {

/// Why ADIOS2 refuses the operator; empty if it accepts the operator.
std::string refusal(const Adios2Operator &wanted) {
  try {
    adios2::ADIOS alone(MPI_COMM_SELF);
    alone.DefineOperator("probe", wanted.type, wanted.parameters);
    return {};
  } catch (const std::exception &error) {
    return error.what();
  }
}

} // namespace

std::vector<std::string> available_operators() {
  // ADIOS2 has no list of operators, so try to create each one. "plugin" needs parameters and is not tried.
  std::vector<std::string> result;
  for (const std::string type : {"bigwhoop", "blosc", "bzip2", "libpressio", "mdr", "mgard", "mgard_complex",
                                 "mgardplus", "null", "png", "prodm", "sirius", "sz", "sz3", "zfp"})
    if (refusal({type, {}}).empty())
      result.push_back(type);
  result.push_back("plugin");
  return result;
}

bool is_lossless(const std::string &type) {
  return type == "null" || type == "blosc" || type == "bzip2" || type == "png";
}

std::string Adios2Operator::describe() const {
  std::string text = type;
  for (const auto &[name, value] : parameters)
    text += fmt::format(" {}={}", name, value);
  return text;
}

Adios2Operator take_operator(Parameters &parameters) {
  Adios2Operator wanted{lower_case(parameters.text("operator", "")), parameters.prefixed("operator.")};
  if (wanted.type.empty()) {
    if (!wanted.parameters.empty())
      throw InputError(fmt::format("parameter operator.{} is given without operator; add, for example, operator = "
                                   "\"{}\"",
                                   wanted.parameters.begin()->first, available_operators().front()));
    return wanted;
  }
  const std::string reason = refusal(wanted);
  if (reason.empty())
    return wanted;
  const auto known = available_operators();
  if (std::find(known.begin(), known.end(), wanted.type) != known.end())
    throw InputError(fmt::format("parameter operator = '{}': ADIOS2 does not take it: {}", wanted.describe(), reason));
  throw InputError(fmt::format("parameter operator = '{}': this ADIOS2 was built with the operators {}. To have "
                               "others, build it with them (tools/build_adios2.sh lists its options)",
                               wanted.type, fmt::join(known, ", ")));
}

} // namespace tailrace::io

#endif
