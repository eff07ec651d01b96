#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Reads and cuts md.idx, the index of a BP4 or BP5 directory: a header of 64 bytes, then the steps. All local.
namespace tailrace::io::bp {

/// 4 or 5. 0 if the index is missing or too short, for example because a run was killed in its first step.
int version(const std::string &directory);
/// Whether the directory has a complete step. Without one the index is empty, or holds zeros and is shorter than the
/// header, and ADIOS2 crashes or reports a wrong version.
bool has_steps(const std::string &directory);

/// The size of md.idx; 0 without one.
std::uintmax_t size_of_index(const std::string &directory);
/// Cuts md.idx by putting a shorter file in its place, which is another one for BpView: a reader that has looked at the
/// old one notices it also when the steps are written again as they were. Throws IoError.
void cut_index(const std::string &directory, std::uintmax_t size);

/// Where the metadata of a step are: its records in md.idx, with those before it that are of no step, and its piece of
/// md.0. From one byte to behind another.
struct StepPlace {
  std::int64_t index_begin = 0, index_end = 0, begin = 0, end = 0;
};
/// Of the complete steps of an index, in the order of ADIOS2's numbers; the first has the header too. Of an index that
/// is damaged: of the steps before the damage.
std::vector<StepPlace> step_places(const std::string &index);

/// Sizes in bytes of the files of values, data.0, data.1 ...
std::map<std::string, std::uintmax_t> data_sizes(const std::string &directory);

/// Drops all but the first `kept` steps (at least one) of a BP4 directory. BP4 has no parameter for this, and when it
/// appends, it takes the last 64 bytes of the index for the last step, even if they are incomplete. Cuts the data files
/// to `sizes` and removes those without a size; if `sizes` is empty, the data files stay, and BP4 appends to them.
/// Throws IoError.
void cut_bp4(const std::string &directory, std::size_t kept, const std::map<std::string, std::uintmax_t> &sizes);

/// The same for a BP5 directory, which also has to lose the metadata of an incomplete last step, and an incomplete
/// description of values: BP5 would write the next ones after them and could not find those again. Returns the number
/// of data files of the steps that stay.
std::int64_t cut_bp5(const std::string &directory, std::size_t kept);

} // namespace tailrace::io::bp
