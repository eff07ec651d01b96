#pragma once

#include <cstdint>
#include <map>
#include <string>

/// md.idx, the index of a directory that ADIOS2's BP4 or BP5 wrote: a header of 64 bytes, then the steps. All local.
namespace tailrace::io::bp {

/// 4 or 5, by the header; 0 when there is no telling: no index, or one cut short, as by a run killed in its first step.
int version(const std::string &directory);
/// Whether the writer came to the end of a step. If it did not, ADIOS2 crashes on the file, or calls it one of another
/// version: the index is empty or zeros shorter than the header.
bool has_steps(const std::string &directory);

/// Sizes in bytes of the files of values, data.0, data.1 ...
std::map<std::string, std::uintmax_t> data_sizes(const std::string &directory);

/// Drops all but the first `kept` steps (at least one) of a BP4 directory. BP4 has no parameter for that, and when it
/// appends it takes the last 64 bytes of the index for the last step, also when a kill cut them. The files of values
/// are cut to `sizes`, those without a size are removed; when `sizes` is empty they stay, for BP4 writes behind what is
/// there. Throws IoError.
void cut_bp4(const std::string &directory, std::size_t kept, const std::map<std::string, std::uintmax_t> &sizes);

/// Drops what a step cut short by a kill left behind in the metadata of a BP5 directory: behind them BP5 would write
/// the next step, and no longer find it. Throws IoError.
void trim_bp5(const std::string &directory);

} // namespace tailrace::io::bp
