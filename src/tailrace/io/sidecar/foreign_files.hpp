#pragma once

#include <tailrace/io/storage/json_log.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace tailrace::io {

// Files of other programs in the directory of a series. What was there before the first series of ours is listed in its
// first line, so that no later series takes it for what a killed one has left. All functions are local.

/// The lines of the series that a new one replaces; none when there is none. Throws IoError when the file is of another
/// program.
std::vector<StepLog::Line> earlier_lines(StepLog &log);

/// The names of files of other programs in the directory of a series with a sidecar, or where one is to be. Throws
/// IoError where the file of the sidecar is of another program.
std::vector<std::string> foreign_files(const std::string &directory);

/// The names of files of other programs: what is in the directory, or what the first line of the earlier series lists
/// and is still there.
nlohmann::json foreign_files_in(const std::string &directory, const std::vector<StepLog::Line> &earlier);

/// Throws IoError if the first line lists the file and it is still there.
void refuse_foreign_file(const nlohmann::json &first_line, const std::string &path);

} // namespace tailrace::io
