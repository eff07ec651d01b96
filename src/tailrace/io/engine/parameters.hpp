#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// The parameters of an engine as the user gave them. Engines take those that they know by name; `finish` refuses the
/// rest, so that a wrong name is an error and does not give a default silently. All local.
class Parameters {
public:
  explicit Parameters(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  /// The value of `name`, or `fallback`. With `choices`, throws InputError for any other value.
  std::string text(const std::string &name, const std::string &fallback, const std::vector<std::string> &choices = {});
  /// true/false, on/off, yes/no or 1/0.
  bool flag(const std::string &name, bool fallback);
  /// An integer that is at least `least`.
  std::int64_t number(const std::string &name, std::int64_t fallback, std::int64_t least);
  /// The given parameters whose names are in `names`, compared without case and returned as spelled in `names`.
  std::map<std::string, std::string> pass_through(const std::vector<std::string> &names);
  /// The parameters whose names begin with `prefix`; the prefix is removed.
  std::map<std::string, std::string> prefixed(const std::string &prefix);
  /// Throws InputError for a parameter that no call took, and names the nearest known parameter.
  void finish(const std::string &engine) const;

private:
  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
  std::vector<std::string> taken_;
};

/// The text with its ASCII letters in lower case.
std::string lower_case(std::string text);

/// The word of `words` nearest to `word` by edit distance without case; empty if none is close.
std::string nearest(const std::string &word, const std::vector<std::string> &words);

} // namespace tailrace::io
