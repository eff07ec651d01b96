#pragma once

#include <tailrace/io/adios2/bp_view.hpp>
#include <tailrace/io/adios2/contents.hpp>
#include <tailrace/io/adios2/session.hpp>
#include <tailrace/io/engine/engine.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io::bp {

/// The content of the directory of a BP series before ADIOS2 opens it to write.
struct Found {
  std::vector<StepInfo> steps;      ///< of the series; when appending, those that stay
  std::vector<std::size_t> numbers; ///< ADIOS2's numbers of these steps, see bp::steps
  Attributes attributes;
  Kinds kinds;                 ///< of the names in the file
  std::int64_t data_files = 0; ///< BP5, when appending: the number of data files of the steps that stay
  bool has_record = false;     ///< when appending: there is a record with these attributes; on rank 0
  BpView view;                 ///< when reading

  /// How many steps ADIOS2 counts up to the last one.
  std::size_t counted() const { return numbers.empty() ? 0 : numbers.back() + 1; }
};

/// Rank 0 checks what exists, drops the steps of a rewind and an incomplete step from the files, and creates the
/// directory of a new series; all ranks get what it found. `kind` is "bp4" or "bp5". Collective.
Found prepare(const std::string &kind, const OpenRequest &request);

/// Sets our own parameters, where neither the user nor a configuration file sets a value. Returns whether every rank
/// writes its own data file, data.RANK. When BP5 appends, `data_files` limits the number of data files also against the
/// user, with a note: ADIOS2 2.12 appends to no more files than there are, and cuts others to random lengths.
/// Collective.
bool choose_parameters(Adios2Io &adios, const std::string &kind, const OpenRequest &request, std::int64_t data_files);

} // namespace tailrace::io::bp

#endif
