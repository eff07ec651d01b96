#pragma once

#include <string>

namespace tailrace::io {

// Recognise what is at a path by the files themselves. All functions are local.

/// The engine that wrote the files at `path`, or the engine of their format; "" if there are none of a known format.
std::string engine_at(const std::string &path);

/// Whether there is a series of Tailrace at `path`: files in the format of an engine that no other program wrote.
bool is_series(const std::string &path);

/// Whether there is a file at `path` that is no series of Tailrace and no remains of one, so that it must not be
/// replaced. Throws IoError if there is a named pipe, a socket or a device.
bool is_foreign_file(const std::string &path);

/// Whether checksums cover all metadata of the series at `path` that the library of `engine` parses: damaged ones could
/// crash it. Always, if our own code reads them, and for an unknown engine. Throws IoError if the checksums cannot be
/// read.
bool metadata_vouched(const std::string &path, const std::string &engine);

} // namespace tailrace::io
