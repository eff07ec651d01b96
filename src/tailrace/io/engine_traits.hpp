#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailrace::io {

/// How an engine brings the bytes of a step into files, for a model of its speed.
struct WriteModel {
  /// "aggregators": chosen ranks write, into own files or shared ones. "shared": all ranks or MPI's aggregators write
  /// into one file. "subfiles": aggregators write a file each. "containers": all ranks write into a few files, in
  /// blocks of their own. Empty: nothing is stored.
  std::string pattern = {};
  bool file_per_variable = false;
  std::string collective_parameter = {}; ///< switches collective writing on, where the pattern is "shared"
  std::string collective_default = {};
  double copies = 0;       ///< passes over the values in memory beside those for checksums
  bool statistics = false; ///< whether minima and maxima are computed unless they are switched off: one more pass
  int preference = 99;     ///< among equally fast engines, the one with the smallest number is recommended
};

/// What an engine is: all that other code may ask about it without a comparison of its name. Every engine states it in
/// its folder (`EngineEntry`).
struct EngineTraits {
  std::string name = {};
  std::string family = {};                  ///< a new series may replace a series of the same family only
  std::vector<std::string> extensions = {}; ///< of paths, which select the engine; the first one is the usual one
  std::vector<std::string> aliases = {};    ///< names by which users know the format
  bool stores = true;                       ///< its steps are on disk when it is closed
  bool streams = false;                     ///< its steps go to another program; the path is a name, as in "sst:NAME"
  bool one_file = false;                    ///< a series is one file; else it is a directory
  bool owns_directory = false;              ///< its library deletes all other files in the directory
  bool file_names = false;                  ///< names of variables are names of files, which other programs know
  bool sidecar = false;                     ///< series.jsonl describes the steps, without the library of the format
  std::string library = {};   ///< reads the metadata, and may crash on damaged ones; empty: our code reads them
  bool waits = false;         ///< the library waits without end for values beyond the end of a file
  std::string journal = {};   ///< ending of a file beside the series while it is written
  std::string companion = {}; ///< ending, behind the name of the series, of a file that describes it to other programs
  std::vector<std::string> remains = {};    ///< patterns of names by which the files of a damaged series are known
  std::vector<std::string> step_files = {}; ///< patterns of the names of all files of steps, with {variable}
  std::string compression = {};             ///< the parameter that compresses values; empty: there is none
  std::int64_t longest_name = 0;            ///< characters of the name of a variable or scalar; 0: any number
  std::int64_t longest_text = 0;            ///< bytes of a text that can be stored; 0: any number
  bool text_lists = true;                   ///< whether an attribute may be a list of texts
  std::vector<std::string> types = {};      ///< names of the types of values that can be stored; empty: all
  WriteModel model = {};
};

/// Names of all engines of this library, in alphabetical order.
const std::vector<std::string> &engine_names();

/// Throws InputError for an unknown name, with a list of the known ones.
const EngineTraits &engine_traits(const std::string &name);

} // namespace tailrace::io
