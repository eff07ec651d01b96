#pragma once

#include <tailrace/io/engine/engine.hpp>
#include <tailrace/io/engine_traits.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tailrace::io {

/// The first bytes at a path: of the file, or of series.jsonl in the directory.
struct Start {
  bool directory = false;
  std::string text = {}; ///< at most 4096 bytes; empty: nothing can be read
};

/// What an engine tells the table of engines (engines.cpp). Each engine defines the function NAME_entry() in its
/// folder.
struct EngineEntry {
  EngineTraits traits;
  /// Takes the engine's parameters and opens it. Collective; throws the same error on all ranks.
  std::unique_ptr<Engine> (*open)(const OpenRequest &, Parameters);
  /// Whether the engine, or another program in its format, wrote what is at a path. Local. Null: it stores nothing.
  std::function<bool(const std::string &path, const Start &start)> wrote = {};
  /// Engines of one file: whether there is a file of another program, which must not be replaced. Local.
  bool (*is_foreign)(const std::string &path) = nullptr;
  /// Whether files that `wrote` knows are a series of Tailrace. Local. Null: they always are.
  bool (*is_ours)(const std::string &path) = nullptr;
  /// Whether checksums cover all metadata that the library parses. Local. Null: our own code reads them.
  bool (*vouched)(const std::string &path) = nullptr;
};

} // namespace tailrace::io
