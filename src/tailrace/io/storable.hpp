#pragma once

#include <tailrace/io/engine_traits.hpp>
#include <tailrace/io/types.hpp>

#include <string>

namespace tailrace::io {

// Whatever a writer takes, its reader returns. These functions throw InputError, with the name, for what an engine
// cannot give back.

/// A variable, a component of one, a list or a scalar of a step.
void check_storable_name(const std::string &name, const EngineTraits &traits);
void check_storable(const std::string &name, const Scalar &value, const EngineTraits &traits);
void check_storable(const std::string &name, const Attribute &value, const EngineTraits &traits);
/// The values of a variable or list.
void check_storable(const std::string &name, Type type, const EngineTraits &traits);

} // namespace tailrace::io
