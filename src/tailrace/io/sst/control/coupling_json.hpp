#pragma once

#include <tailrace/io/coupling.hpp>

#include <nlohmann/json_fwd.hpp>

namespace tailrace::io {

/// Numbers, host and process of a side, but not its state.
nlohmann::json to_json(const CouplingSide &side);
/// The side, with the state "open". Throws a JSON exception when `text` is not what to_json makes.
CouplingSide side_from_json(const nlohmann::json &text);

} // namespace tailrace::io
