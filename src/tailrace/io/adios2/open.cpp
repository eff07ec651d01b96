#include <tailrace/io/adios2/engines.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

namespace tailrace::io {

#if TAILRACE_HAVE_ADIOS2

std::unique_ptr<Engine> open_adios2(const std::string &kind, const Target &target, Parameters parameters) {
  return kind == "adios_hdf5" ? open_adios_hdf5(target, parameters) : open_bp(kind, target, parameters);
}

#else

std::unique_ptr<Engine> open_adios2(const std::string &kind, const Target &, Parameters) {
  throw InputError(
      fmt::format("engine {} needs ADIOS2, and this Tailrace was built without it. To fix this, run "
                  "tools/build_adios2.sh and build again with -DTAILRACE_WITH_ADIOS2=ON, or use hdf5 or raw",
                  kind));
}

#endif

} // namespace tailrace::io
