#pragma once

#include <cstddef>
#include <cstdint>

/// Positions in a SION container, file format version 5.
namespace tailrace::io::sion {

constexpr std::int64_t header_bytes = 1088; // plus 16 bytes per task
constexpr std::int64_t ranks_at = 1076;
constexpr std::size_t prefix_bytes = 1024;
constexpr std::int32_t version = 1007, patch_level = 6, format_version = 5; // those of SIONlib 1.7.6
constexpr std::int64_t no_key_values = 50, inline_key_values = 51;

inline std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace tailrace::io::sion
