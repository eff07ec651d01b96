#include <tailrace/io/storable.hpp>

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <variant>
#include <vector>

namespace tailrace::io {

namespace {

/// Text is stored as JSON too, which must be UTF-8.
bool is_utf8(const std::string &text) {
  try {
    return !valid_json_text(nlohmann::json(text)).empty();
  } catch (const nlohmann::json::type_error &) {
    return false;
  }
}

void check_text(const std::string &name, const std::string &text, const EngineTraits &traits) {
  if (text.find('\0') != std::string::npos)
    throw InputError(fmt::format("{}: the text has a character NUL at byte {}, where readers end a text; to fix this, "
                                 "leave it out",
                                 name, text.find('\0')));
  if (!is_utf8(text))
    throw InputError(fmt::format("{}: the text is not in UTF-8", name));
  if (traits.longest_text > 0 && static_cast<std::int64_t>(text.size()) > traits.longest_text)
    throw InputError(fmt::format("{}: the text has {} bytes, and the engine {} stores at most {}; to fix this, use "
                                 "another engine",
                                 name, text.size(), traits.name, traits.longest_text));
}

} // namespace

void check_storable_name(const std::string &name, const EngineTraits &traits) {
  check_name(name);
  if (traits.longest_name > 0 && static_cast<std::int64_t>(name.size()) > traits.longest_name)
    throw InputError(fmt::format("{}: the name has {} characters, and the engine {} stores at most {}; to fix this, "
                                 "use a shorter name, or another engine",
                                 name, name.size(), traits.name, traits.longest_name));
}

void check_storable(const std::string &name, const Scalar &value, const EngineTraits &traits) {
  if (const auto *text = std::get_if<std::string>(&value))
    check_text(name, *text, traits);
}

void check_storable(const std::string &name, const Attribute &value, const EngineTraits &traits) {
  if (const auto *text = std::get_if<std::string>(&value))
    check_text(name, *text, traits);
  const auto *texts = std::get_if<std::vector<std::string>>(&value);
  if (texts && !traits.text_lists)
    throw InputError(
        fmt::format("{}: the engine {} stores no lists of texts; to fix this, join them to one text, or use "
                    "another engine",
                    name, traits.name));
  if (texts)
    for (const std::string &text : *texts)
      check_text(name, text, traits);
}

void check_storable(const std::string &name, Type type, const EngineTraits &traits) {
  if (!traits.types.empty() && std::ranges::find(traits.types, name_of(type)) == traits.types.end())
    throw InputError(
        fmt::format("{}: the engine {} stores no {}, but {}; to fix this, convert it, or use another engine", name,
                    traits.name, name_of(type), fmt::join(traits.types, ", ")));
}

} // namespace tailrace::io
