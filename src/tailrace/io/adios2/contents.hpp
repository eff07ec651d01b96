#pragma once

#include <tailrace/io/adios2/adios2_types.hpp>
#include <tailrace/io/types.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

/// Reads and writes the contents of BP files through an IO with an open engine. All local. Throws ADIOS2's exceptions.
namespace tailrace::io::bp {

// Names of texts in every step, as JSON: the checksums of the blocks, and the lists with their shapes.
inline const std::string checksums_name = "tailrace/checksums", lists_name = "tailrace/lists";
// BP4: the sizes of the data files before the step, for a rewind.
inline const std::string sizes_name = "tailrace/sizes";

/// The Tailrace type for ADIOS2's "double", "int64_t" and so on; empty if there is none.
std::optional<Type> type_of(const std::string &adios2_type);

/// Extents in ADIOS2's order: z, y, x.
adios2::Dims dims(const Index3 &n);

/// The most bytes of a text in BP4: a longer one makes the whole directory unreadable.
constexpr std::size_t most_text = 65535;

/// What the names of a series are, in words: "an array of double".
using Kinds = std::map<std::string, std::string>;
std::string kind_of(bool array, const std::string &type);
/// Those of a file that is open to read.
Kinds kinds(adios2::IO &io);
/// The name of a part of a text that is stored in parts, the first being part 0.
std::string name_of_part(const std::string &name, std::size_t part);

/// Our attributes have names below tailrace/attributes/, the grid below tailrace/grid/. All local.
void write_attributes(adios2::IO &io, const Attributes &attributes);
Attributes read_attributes(adios2::IO &io);
void write_grid(adios2::IO &io, const GridDescription &grid);
std::optional<GridDescription> read_grid(adios2::IO &io);

/// Which steps of an open engine hold a variable, by its name, as far as that was asked for: ADIOS2 visits all steps
/// for each answer.
using HeldSteps = std::map<std::string, std::vector<std::size_t>>;

// For engines opened to read; `step` is ADIOS2's number of a step, from 0:
struct NumberedStep {
  StepInfo info;
  std::size_t number = 0;
};
/// Leaves out the steps without any variable: BP4 writes one when it appends and is closed before a step begins. Throws
/// IoError if another step has no time and index.
std::vector<NumberedStep> steps(adios2::IO &io, adios2::Engine &engine, HeldSteps &held);
std::vector<VariableInfo> variables(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step);
Scalars scalars(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step);
/// A text of ours, of all its parts; "" if it does not exist.
std::string text(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const std::string &name);
void read(adios2::IO &io, adios2::Engine &engine, HeldSteps &held, std::size_t step, const VariableInfo &variable,
          const Box &box, void *data);

} // namespace tailrace::io::bp

#endif
