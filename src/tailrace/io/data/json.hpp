#pragma once

#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// JSON descriptions of a series, for sidecars, texts in BP files, and streams. The functions of each pair are inverses
// of each other. All are local and throw nlohmann::json::exception for JSON of another form.
namespace tailrace::io {

/// The value of a text of JSON. All JSON that is read comes through here: values nested deeper than 64 times are an
/// error, because the library copies and writes them recursively and would overflow the stack.
nlohmann::json parse_json(std::string_view text);
/// The text of a value; a nlohmann::json::type_error for one with texts that are no UTF-8. In all other files this and
/// parse_json take the place of the library's own, which each of them would compile again in seconds.
std::string valid_json_text(const nlohmann::json &value);
/// The same, also of a value with texts that are no UTF-8: it shows what is not with a mark.
std::string json_text(const nlohmann::json &value);

/// A whole number. The library would take any number, and cut it off: its behaviour is undefined where no int64 holds
/// the number, as 1e308.
std::int64_t whole_number(const nlohmann::json &value);
/// Sizes of files in bytes, by name.
std::map<std::string, std::uintmax_t> sizes_from_json(const nlohmann::json &object);
/// Three whole numbers, which are in the order z, y, x.
Index3 index3_from_json(const nlohmann::json &values);

/// Attributes as JSON and back; numbers keep their kind.
nlohmann::json attributes_to_json(const Attributes &attributes);
Attributes attributes_from_json(const nlohmann::json &object);

/// The same for scalars. A NaN, which JSON does not have, becomes null.
nlohmann::json scalars_to_json(const Scalars &scalars);
Scalars scalars_from_json(const nlohmann::json &object);

/// Points, origin and spacing in the order z, y, x, and the coordinates of a stretched grid.
nlohmann::json grid_to_json(const GridDescription &grid);
GridDescription grid_from_json(const nlohmann::json &object);

/// Name, type, columns and rows of lists.
nlohmann::json lists_to_json(const std::vector<VariableInfo> &lists);
std::vector<VariableInfo> lists_from_json(const nlohmann::json &object);

} // namespace tailrace::io
