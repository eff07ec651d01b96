#pragma once

#include <tailrace/io/data/block_rows.hpp>
#include <tailrace/io/engine/block_list.hpp>
#include <tailrace/io/h5/h5.hpp>
#include <tailrace/io/hdf5/filters/filters.hpp>
#include <tailrace/io/types.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The layout of our VTKHDF files:
///
///     /VTKHDF                     attributes Version, Type, WholeExtent, Origin, Spacing, Direction
///     /VTKHDF/PointData/<name>    [step, z, y, x]; variables with one value less per direction are in CellData
///     /VTKHDF/Steps               attribute NSteps; dataset Values, the times
///     /Fields/<name>              [step, z, y, x]; variables of any other shape
///     /VTKHDF/PointData/velocity  [step, z, y, x, 3]; a view: a virtual dataset, which repeats what is stored
///                                 elsewhere in the form that VTK draws, and takes no space. We never read views. There
///                                 is one for each vector whose three components are on the points. With closing planes
///                                 (see Closing), and on a plane or line, the points are in /Fields, and
///                                 PointData/<name> is a view too: with the closing planes, and without the directions
///                                 of one point, which VTK's arrays do not have (see image_axes)
///     /Lists/<name>/<row>         [rows, columns] of a list in step number <row>, from 0
///     /Tailrace                   attribute version, and rewound, a text that is new whenever steps were dropped; id,
///                                 a text that no other file has; index and scalars/<name> by step; attributes of the
///                                 series; coordinates/x, y, z of a stretched grid
///     /Tailrace/steps/<row>       what a step holds, as a checked line of JSON: index, time, scalars, variables,
///                                 lists, checksums. We read this; the rest is there for other programs
///     /Tailrace/blocks/<row>      [block, 8]; where many ranks write, the checksums of a step: number of the variable
///                                 in the record's table; z, y, x, nz, ny, nx of the block; xxh3 of its bytes
///
/// When a step lacks a grid variable that other steps have, the dataset holds zeros for it, or the fill value where
/// there are filters. Everything here is local and serial.
namespace tailrace::io::vtkhdf {

// What has a row for each step.
inline const std::string steps_path = "/VTKHDF/Steps", values_path = "/VTKHDF/Steps/Values",
                         index_path = "/Tailrace/index", own_path = "/Tailrace", point_group = "/VTKHDF/PointData";

/// For x, y, z: whether views repeat the first plane behind the last one, so that VTK draws a periodic box as a whole.
/// WholeExtent then counts these planes; the grid of a series does not. Stored as the attribute "closing" of /Tailrace.
using Closing = std::array<bool, 3>;

/// A grid variable and the path of its dataset.
struct Variable {
  VariableInfo info;
  std::string path;
};

struct Contents {
  std::string generation; ///< see generation_of
  std::vector<StepInfo> steps;
  std::optional<GridDescription> grid;
  Closing closing{};
  Attributes attributes;
  std::map<std::string, Variable> variables; ///< of any step
};

/// A contiguous part of a variable in one step: all of x and y, and a range of z.
struct Chunk {
  std::int64_t offset = 0; ///< byte in the file
  std::int64_t begin = 0;  ///< first plane
  std::int64_t planes = 0;
  std::int64_t bytes = 0; ///< allocated in the file
};

/// Fills a new, empty file.
void create(hid_t file, const std::optional<GridDescription> &grid, const Closing &closing);
/// A text that changes whenever steps are dropped from a file of ours, and that no other file has: while it is the
/// same, the steps of before are there. "" for a file of another program.
std::string generation_of(hid_t file);
void begin_generation(hid_t file); ///< changes it
/// Bytes that stay as they are while step number `row` is added, and that no other file has: offset -> size. For the
/// journal.
std::map<std::int64_t, std::int64_t> marks(hid_t file, std::int64_t row);
/// What a file of ours or of another program holds. `path` names it in errors.
Contents read_contents(hid_t file, const std::string &path);
/// Looks for damage besides the data of steps, in a file that read_file has just opened: one line each, with the name
/// of the object. HDF5 may crash, also when the program ends, if it changes a file with such damage.
std::vector<std::string> damage(hid_t file, const Contents &contents);
void write_grid(hid_t file, const GridDescription &grid, const Closing &closing);
void write_attributes(hid_t file, const Attributes &attributes);

// ---- grid variables ----

/// Creates the dataset of a variable, without steps. Without filters a step is one chunk, or several if it is larger
/// than `chunk_bytes`, and a chunk has whole planes. With filters chunks are boxes of at most `chunk_bytes`. Throws
/// InputError when a plane is larger than HDF5's limit for a chunk.
Variable create_variable(hid_t file, const VariableInfo &info, const Contents &contents, const Filters &filters,
                         std::int64_t chunk_bytes);
/// Makes space for step number `row` of a variable if there is none yet, and returns where it is: nothing when the
/// chunks have filters, because then they have no place before they are written.
std::vector<Chunk> make_room(hid_t file, const Variable &variable, std::int64_t row);
/// Fills step number `row` of a variable that the step does not have with zeros, for other programs. `path`: of the
/// file.
void leave_out(hid_t file, const std::string &path, const Variable &variable, std::int64_t row);
/// Removes steps from number `steps` on, in datasets whose data have no fixed place.
void cut_variable(hid_t file, const Variable &variable, std::int64_t steps);

// ---- views ----

/// The shape that VTK draws: the points of the grid, and closing planes.
Index3 drawn_shape(const GridDescription &grid, const Closing &closing);
/// Whether origin and spacing tell all places: on a plane normal to a stretched direction too.
bool is_image(const GridDescription &grid);
/// The direction, 0 to 2 for x to z, of each axis of the image of that shape. Those of one point come last, because VTK
/// counts the dimensions of its arrays by the extents of the last axes.
std::array<std::size_t, 3> image_axes(const Index3 &shape);
/// Whether PointData has views of the variables on the points, which are then in /Fields.
bool draws_views(const Contents &contents);

/// Adds the view of a variable on the points, where `draws_views`.
void add_view(hid_t file, const Variable &variable, const Contents &contents);
/// Adds the views of vectors that are not there yet: of ux, uy, uz as velocity; of Ax, Ay, Az, of A_x, A_y, A_z and of
/// an array A with three components as A_vector. A variable of that name has priority.
void add_vectors(hid_t file, const Contents &contents);
/// Whether there is a view of ours at the path.
bool is_view(hid_t file, const std::string &path);

// ---- lists ----

/// Creates a list of step number `row` and returns where it is; a list without rows has no place.
std::vector<Chunk> create_list(hid_t file, const VariableInfo &info, std::int64_t row);
std::string list_path(const std::string &name, std::int64_t row);
bool is_list(hid_t file, const std::string &name); ///< in any step

// ---- steps ----

/// What a step holds. In a file of another program: its grid variables.
struct Step {
  StepInfo info;
  Scalars scalars;
  std::vector<VariableInfo> variables; ///< lists, too
  std::string checksums;               ///< as JSON; "" if there are none, or they are in a table
  std::string table_sum;               ///< the checksum of the table
  std::vector<std::string> in_table;   ///< the variables in it
};

/// Appends the step to the lists, and last of all to NSteps; with the checksums of its blocks, if there are any, in the
/// record or in a table, as `block_list` tells. Throws InputError when a scalar had another type in earlier steps.
void append_step(hid_t file, std::int64_t row, Step step, const std::optional<StepBlocks> &blocks,
                 const BlockList &block_list);
/// The record of step number `row` as a text, which tells it from all others; "" in a file of another program, or where
/// there is no such step. Throws IoError.
std::string read_record(hid_t file, std::int64_t row);
/// Throws IoError when the step is damaged.
Step read_step(hid_t file, const Contents &contents, std::int64_t row);
/// The checksums of a step that are in a table, as JSON. Throws IoError when the table is damaged.
std::string read_table(hid_t file, const Step &step, std::int64_t row);
/// Reads `box` of a variable in step number `row`, from the dataset at `path`, into contiguous memory.
void read_box(hid_t file, const std::string &path, const VariableInfo &variable, std::int64_t row, const Box &box,
              void *data);
/// The paths of the growing lists that have a row for each step, for other programs.
std::vector<std::string> lists_of_steps(hid_t file);
/// Shortens the lists to `steps`. The data of the removed steps stay in the file, although no list names them: nothing
/// is freed, so that a rollback of the metadata finds the data again.
void cut_steps(hid_t file, std::int64_t steps);
/// Whether cut_steps left something that would get in the way of new steps.
bool has_leftovers(hid_t file, std::int64_t steps);
/// Removes it. Data with a fixed place stay, and later steps overwrite them.
void remove_leftovers(hid_t file, const Contents &contents);

} // namespace tailrace::io::vtkhdf
