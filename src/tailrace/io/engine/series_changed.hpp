#pragma once

#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace::io {

/// The error of a reader when another program drops steps of the series, or writes it again: at `step`, the index of
/// one that was there.
inline IoError series_changed(const std::string &path, std::optional<std::int64_t> step = {}) {
  return IoError(fmt::format("cannot read {}: the series changed while it was read, because another program rewinds it "
                             "or writes it again{}. To fix this, open it again",
                             path, step ? fmt::format("; step {} is not in it now", *step) : ""));
}

} // namespace tailrace::io
