// The engines of a library that was built without ADIOS2.

#if !TAILRACE_HAVE_ADIOS2

#include <tailrace/io/adios2/foreign_bp.hpp>
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

struct ForeignBp::State {};
ForeignBp::ForeignBp(const std::string &) { refuse("bp5"); }
ForeignBp::~ForeignBp() = default;
std::size_t ForeignBp::steps() const { return 0; }
Attributes ForeignBp::attributes() const { return {}; }
std::vector<Attributes> ForeignBp::attributes_in_steps(const std::vector<std::string> &) const { return {}; }
std::vector<std::string> ForeignBp::left_out_attributes() const { return {}; }
std::vector<ForeignVariable> ForeignBp::variables(std::size_t) { return {}; }
Scalar ForeignBp::value(std::size_t, const std::string &) { return {}; }
void ForeignBp::read(std::size_t, const Part &, void *) {}
void ForeignBp::check_values(std::size_t, std::size_t) {}

} // namespace tailrace::io

#endif
