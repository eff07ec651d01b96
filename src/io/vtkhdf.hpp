#pragma once

#include <tailrace/io/hdf5_file.hpp>
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
///     /Tailrace                   index, scalars/<name>, checksums by step; attributes of the series
///
/// Everything here is local and serial.
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
  std::map<std::string, Variable> variables;
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

/// Makes the dataset of a variable, without steps. A step is one chunk, or where it is larger than `chunk_bytes` as
/// many as it takes; a chunk has whole planes. Throws InputError when a plane is larger than HDF5's limit for a chunk.
Variable create_variable(hid_t file, const VariableInfo &info, const GridDescription &grid, std::int64_t chunk_bytes);
/// Makes room for step number `row` of a variable where there is none yet, and says where it is.
std::vector<Chunk> make_room(hid_t file, const Variable &variable, std::int64_t row);
/// All chunks of all variables: offset -> bytes.
std::map<std::int64_t, std::int64_t> all_chunks(hid_t file, const Contents &contents);

/// Appends the step to the lists, and to NSteps at the very last.
void append_step(hid_t file, std::int64_t row, const StepInfo &step, const Scalars &scalars,
                 const std::string &checksums);
/// Shortens the lists to `steps`. The data of the dropped steps stay where they are, uncounted, until later steps take
/// their place: nothing is freed, so that whoever undoes this by restoring the metadata has the data too.
void cut_steps(hid_t file, std::int64_t steps);

Scalars scalars(hid_t file, std::int64_t row); ///< NaN for one that the step does not have
std::string checksums(hid_t file, std::int64_t row);

} // namespace tailrace::io::vtkhdf
