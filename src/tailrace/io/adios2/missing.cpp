// The engines of a library that was built without ADIOS2.

#if !TAILRACE_HAVE_ADIOS2

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::io {

namespace {

[[noreturn]] void refuse(const char *engine) {
  throw InputError(fmt::format("engine {} needs ADIOS2, and this Tailrace was built without it. To fix this, run "
                               "tools/build_adios2.sh and build again with -DTAILRACE_WITH_ADIOS2=ON, or use hdf5 or "
                               "raw",
                               engine));
}

} // namespace

std::unique_ptr<Engine> open_adios_hdf5(const OpenRequest &, Parameters) { refuse("adios_hdf5"); }
std::unique_ptr<Engine> open_bp4(const OpenRequest &, Parameters) { refuse("bp4"); }
std::unique_ptr<Engine> open_bp5(const OpenRequest &, Parameters) { refuse("bp5"); }

} // namespace tailrace::io

#endif
