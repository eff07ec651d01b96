#pragma once

#include <tailrace/io/adios2/operators.hpp>
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/guarded_call.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>
#include <fmt/format.h>

#include <map>
#include <string>

namespace tailrace::io {

/// What the parameters of a series ask of ADIOS2.
struct Adios2Options {
  std::string kind;                          ///< our name of the engine: "bp4", "bp5", "adios_hdf5"
  std::map<std::string, std::string> engine; ///< the engine's own parameters
  std::string config;                        ///< ADIOS2's XML or YAML file; empty: none
  Adios2Operator operation;
  double failure_timeout = 0; ///< seconds, see guarded_collective
};

/// Takes the parameters of the engine `kind`. Throws InputError, also for those left over and for a configuration file
/// that ADIOS2 cannot read or that asks for another engine than the series at `path` has. Local: for one rank, or all.
Adios2Options adios2_options(const std::string &kind, const std::string &path, Parameters &parameters);

/// ADIOS2 with one IO that has the engine and its parameters: those of the configuration file, and over them the
/// user's. The IO of the file is the one named as the series without its suffix, else "tailrace".
class Adios2Io {
public:
  /// Collective; throws on all ranks or on none once adios2_options went well on all.
  Adios2Io(const Adios2Options &options, const std::string &path, MPI_Comm comm);

  /// Sets what neither the configuration file nor the user did.
  void set_default(const std::string &parameter, const std::string &value);
  bool has(const std::string &parameter) const; ///< whether it is set, in any case of letters
  adios2::IO &io() { return io_; }

private:
  std::string spelling(const std::string &parameter) const; ///< of a parameter that is set, else empty

  adios2::ADIOS adios_;
  adios2::IO io_;
};

/// What ADIOS2 says was wrong, on one line, without its date and colours.
std::string plain_words(const std::string &text);

/// Runs an ADIOS2 call and turns its exceptions, several lines with file names of ADIOS2 inside, into ours.
template <class Work> auto translate(const std::string &what, Work work) {
  try {
    return work();
  } catch (const Error &) {
    throw;
  } catch (const std::exception &error) {
    throw IoError(fmt::format("cannot {}: {}", what, plain_words(error.what())));
  }
}

/// guarded_collective for a call of ADIOS2. Collective; the same error on all ranks.
template <class Work>
void meet_in_adios2(const Communicator &comm, double timeout, const std::string &what, Work work) {
  guarded_collective(comm, timeout, "ADIOS2", [&] { translate(what, work); });
}

} // namespace tailrace::io

#endif
