#pragma once

#include <tailrace/io/engine/parameters.hpp>

#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// An operator of ADIOS2, in most cases a compressor, that is applied to grid variables before they are written.
struct Adios2Operator {
  std::string type;                              ///< ADIOS2's name, for example "zfp"; empty: none
  std::map<std::string, std::string> parameters; ///< parameters of the operator

  /// For example "zfp accuracy=1e-3".
  std::string describe() const;
};

/// Takes the parameters `operator` and `operator.NAME`. Throws InputError: for an unknown operator with a list of those
/// that ADIOS2 has, for wrong parameters with the message of the operator. Local.
Adios2Operator take_operator(Parameters &parameters);
/// The operators that the ADIOS2 in use was built with. Local.
std::vector<std::string> available_operators();
/// Whether reading returns exactly the values that were written. False for plugins, because we cannot know.
bool is_lossless(const std::string &operator_type);

} // namespace tailrace::io
