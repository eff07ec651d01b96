#pragma once

#include <tailrace/io/adios2/data_operators.hpp>
#include <tailrace/io/engine/parameters.hpp>
#include <tailrace/support/communicator.hpp>
#include <tailrace/support/error.hpp>
#include <tailrace/support/file_descriptor.hpp>
#include <tailrace/support/guarded_call.hpp>

#if TAILRACE_HAVE_ADIOS2

#include <adios2.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>

namespace tailrace::io {

/// Options for ADIOS2 from the parameters of a series.
struct Adios2Options {
  std::string kind;                          ///< our name of the engine: "bp4", "bp5", "adios_hdf5"
  std::map<std::string, std::string> engine; ///< parameters of the ADIOS2 engine
  std::string config;                        ///< an XML or YAML file of ADIOS2; empty: none
  Adios2Operator operation;
  double failure_timeout = 0; ///< seconds, see guarded_collective
};

/// Takes the parameters of engine `kind`. Throws InputError for wrong or unknown ones, and for a configuration file
/// that ADIOS2 cannot read or that names another engine than the series at `path` has. Local.
Adios2Options adios2_options(const std::string &kind, const std::string &path, Parameters &parameters);

/// ADIOS2 with one IO, its engine and its parameters; the user's parameters override those of the configuration file.
/// The IO in that file has the name of the series without its suffix, or else "tailrace".
class Adios2Io {
public:
  /// Collective. If adios2_options succeeded on all ranks, this throws on all ranks or on none.
  Adios2Io(const Adios2Options &options, const std::string &path, MPI_Comm comm);

  /// Sets a parameter that neither the configuration file nor the user has set.
  void set_default(const std::string &parameter, const std::string &value);
  bool has(const std::string &parameter) const;          ///< whether it is set, ignoring case
  std::string value(const std::string &parameter) const; ///< "" if it is not set
  /// Sets a parameter also against the configuration file and the user.
  void set(const std::string &parameter, const std::string &value);
  adios2::IO &io() { return io_; }

private:
  std::string spelling(const std::string &parameter) const; ///< spelling of a parameter that is set, else empty

  adios2::ADIOS adios_;
  adios2::IO io_;
};

/// The error message of ADIOS2 on one line, without date and colours.
std::string plain_words(const std::string &text);

/// Throws what ADIOS2 says as an IoError; as an InputError that it was built without an operator, which is no damage.
[[noreturn]] void throw_plain(const std::string &what, const std::string &words);

/// Runs an ADIOS2 call and converts its exceptions, whose texts have several lines and file names of ADIOS2, to ours.
template <class Work> auto translate(const std::string &what, Work work) {
  try {
    return work();
  } catch (const Error &) {
    throw;
  } catch (const std::filesystem::filesystem_error &error) {
    throw file_error(error);
  } catch (const std::exception &error) {
    throw_plain(what, plain_words(error.what()));
  }
}

/// Calls guarded_collective for a call of ADIOS2. Collective; the same error on all ranks.
template <class Work>
void meet_in_adios2(const Communicator &comm, double timeout, const std::string &what, Work work) {
  guarded_collective(comm, timeout, "ADIOS2", [&] { translate(what, work); });
}

} // namespace tailrace::io

#endif
