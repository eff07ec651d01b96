#pragma once

#include <tailrace/io/engine/parameters.hpp>

#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// What ADIOS2 does to the values of a grid variable on their way to the file: an operator, most of them compressors.
struct Adios2Operator {
  std::string type;                              ///< ADIOS2's name, "zfp"; empty: none
  std::map<std::string, std::string> parameters; ///< the operator's own

  /// "zfp accuracy=1e-3", as the file says it.
  std::string describe() const;
};

/// Takes `operator` and `operator.NAME`. Throws InputError that lists the operators of this ADIOS2 for one that it has
/// not, and what the operator itself says of its parameters. Local.
Adios2Operator take_operator(Parameters &parameters);
/// The operators that the ADIOS2 in use was built with. Local.
std::vector<std::string> available_operators();
/// Whether values come back as they were. Of plugins there is no telling: no.
bool is_lossless(const std::string &operator_type);

} // namespace tailrace::io
