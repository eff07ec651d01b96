#pragma once

#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/hdf5/filters.hpp>
#include <tailrace/io/types.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// What stands where in our VTKHDF files:
///
///     /VTKHDF                     attributes Version, Type, WholeExtent, Origin, Spacing, Direction
///     /VTKHDF/PointData/<name>    [step, z, y, x]; variables with one value less per direction are in CellData
///     /VTKHDF/Steps               attribute NSteps; dataset Values, the times
///     /Fields/<name>              [step, z, y, x]; variables of any other shape
///     /Lists/<name>/<row>         [rows, columns] of a list in step number <row>, from 0
///     /Tailrace                   attribute version; index and scalars/<name> by step; attributes of the series;
///                                 coordinates/x, y, z of a stretched grid
///     /Tailrace/steps/<row>       what a step holds, as a checked line of JSON: index, time, scalars, variables,
///     lists,
///                                 checksums. What it says counts; the rest is there for other programs
///
/// A step that lacks a grid variable which other steps have holds zeros, or what the filters make of nothing, in its
/// place. Everything here is local and serial.
namespace tailrace::io::vtkhdf {

/// A grid variable and the path of its dataset.
struct Variable {
  VariableInfo info;
  std::string path;
};

struct Contents {
  std::vector<StepInfo> steps;
  std::optional<GridDescription> grid;
  Attributes attributes;
  std::map<std::string, Variable> variables; ///< of any step
};

/// Part of a variable in one step that lies in one piece: all of x and y, and a range of z.
struct Chunk {
  std::int64_t offset = 0; ///< byte in the file
  std::int64_t begin = 0;  ///< first plane
  std::int64_t planes = 0;
  std::int64_t bytes = 0; ///< taken in the file
};

/// Fills a new, empty file.
void create(hid_t file, const std::optional<GridDescription> &grid);
/// What a file says of itself, ours or another program's. `path` names it in errors.
Contents read_contents(hid_t file, const std::string &path);
void write_grid(hid_t file, const GridDescription &grid);
void write_attributes(hid_t file, const Attributes &attributes);

// ---- grid variables ----

/// Makes the dataset of a variable, without steps. Without filters a step is one chunk, or where it is larger than
/// `chunk_bytes` as many as it takes, and a chunk has whole planes. With filters chunks are boxes of at most
/// `chunk_bytes`. Throws InputError when a plane is larger than HDF5's limit for a chunk.
Variable create_variable(hid_t file, const VariableInfo &info, const GridDescription &grid, const Filters &filters,
                         std::int64_t chunk_bytes);
/// Makes room for step number `row` of a variable where there is none yet, and says where it is: nothing when its
/// chunks have no place before they are written, because they go through filters.
std::vector<Chunk> make_room(hid_t file, const Variable &variable, std::int64_t row);
/// Lets other programs find zeros in step number `row` of a variable that the step does not have. `path` is the file's.
void leave_out(hid_t file, const std::string &path, const Variable &variable, std::int64_t row);
/// Removes steps from number `steps` on, where data have no fixed place.
void cut_variable(hid_t file, const Variable &variable, std::int64_t steps);

// ---- lists ----

/// Makes a list of step number `row` and says where it is; a list without rows is nowhere.
std::vector<Chunk> create_list(hid_t file, const VariableInfo &info, std::int64_t row);
std::string list_path(const std::string &name, std::int64_t row);
bool is_list(hid_t file, const std::string &name); ///< in any step

// ---- steps ----

/// What a step holds. Of a file of another program: its grid variables.
struct Step {
  StepInfo info;
  Scalars scalars;
  std::vector<VariableInfo> variables; ///< lists, too
  std::string checksums;
};

/// Appends the step to the lists, and to NSteps at the very last. Throws InputError when a scalar was of another kind
/// in the steps before.
void append_step(hid_t file, std::int64_t row, const Step &step);
/// Throws IoError when the step is not as it was written.
Step read_step(hid_t file, const Contents &contents, std::int64_t row);
/// Reads `box` of a variable in step number `row`, from the dataset at `path`, into contiguous memory.
void read_box(hid_t file, const std::string &path, const VariableInfo &variable, std::int64_t row, const Box &box,
              void *data);
/// Shortens the lists to `steps`. The data of the dropped steps stay where they are, uncounted: nothing is freed, so
/// that whoever undoes this by restoring the metadata has the data too.
void cut_steps(hid_t file, std::int64_t steps);
/// Whether cut_steps left something that would be in the way of new steps.
bool has_leftovers(hid_t file, std::int64_t steps);
/// Removes that. Data that have a fixed place stay, and later steps take their place.
void remove_leftovers(hid_t file, const Contents &contents);

} // namespace tailrace::io::vtkhdf
