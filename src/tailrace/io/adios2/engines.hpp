#pragma once

#include <tailrace/io/engine/engine.hpp>

#include <memory>
#include <string>

namespace tailrace::io {

// What stands behind open_adios2, where this library was built with ADIOS2.
/// `kind`: "bp4" or "bp5".
std::unique_ptr<Engine> open_bp(const std::string &kind, const Target &target, Parameters parameters);
std::unique_ptr<Engine> open_adios_hdf5(const Target &target, Parameters parameters);

} // namespace tailrace::io
