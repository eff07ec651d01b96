#pragma once

namespace tailrace::io::h5 {

/// To be called after HDF5 has failed to close a file: it frees the file, but still lists it, and at the end of the
/// program closes it again, which is a segmentation fault. From now on HDF5 does nothing at the end; files that are
/// open then stay as they are. Local.
void skip_termination();

} // namespace tailrace::io::h5
