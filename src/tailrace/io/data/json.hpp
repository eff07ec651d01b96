#pragma once

#include <tailrace/io/types.hpp>

#include <nlohmann/json.hpp>

namespace tailrace::io {

/// Attributes as JSON, where numbers keep their kind, and back.
nlohmann::json attributes_to_json(const Attributes &attributes);
Attributes attributes_from_json(const nlohmann::json &object);

/// The same for scalars. A NaN, which JSON does not have, becomes null.
nlohmann::json scalars_to_json(const Scalars &scalars);
Scalars scalars_from_json(const nlohmann::json &object);

} // namespace tailrace::io
