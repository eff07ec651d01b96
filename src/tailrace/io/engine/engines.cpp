#include <tailrace/io/engine/engines.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tailrace::io {

// The table of engines: a new engine is a folder, which defines NAME_entry(), and a word here.
#define TAILRACE_ENGINES(ENGINE)                                                                                       \
  ENGINE(raw)                                                                                                          \
  ENGINE(mpiio)                                                                                                        \
  ENGINE(sion)                                                                                                         \
  ENGINE(adios_hdf5)                                                                                                   \
  ENGINE(hdf5)                                                                                                         \
  ENGINE(bp4)                                                                                                          \
  ENGINE(bp5)                                                                                                          \
  ENGINE(null)                                                                                                         \
  ENGINE(sst)

#define TAILRACE_DECLARE(name) EngineEntry name##_entry();
TAILRACE_ENGINES(TAILRACE_DECLARE)
#undef TAILRACE_DECLARE

const std::vector<EngineEntry> &engine_entries() {
#define TAILRACE_CALL(name) name##_entry(),
  static const std::vector<EngineEntry> entries{TAILRACE_ENGINES(TAILRACE_CALL)};
#undef TAILRACE_CALL
  return entries;
}

const EngineEntry &engine_entry(const std::string &name) {
  for (const EngineEntry &entry : engine_entries())
    if (entry.traits.name == name)
      return entry;
  const std::string near = nearest(name, engine_names());
  throw InputError(fmt::format("unknown engine '{}': expected one of {}{}", name, fmt::join(engine_names(), ", "),
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

const std::vector<std::string> &engine_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const EngineEntry &entry : engine_entries())
      result.push_back(entry.traits.name);
    std::sort(result.begin(), result.end());
    return result;
  }();
  return names;
}

const EngineTraits &engine_traits(const std::string &name) { return engine_entry(name).traits; }

} // namespace tailrace::io
