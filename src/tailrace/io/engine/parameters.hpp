#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tailrace::io {

/// The parameters of an engine as its user gave them. Engines take what they know by name; `finish` refuses the rest,
/// so that a misspelt parameter is an error and not a silent default. Everything here is local.
class Parameters {
public:
  explicit Parameters(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  /// The value of `name`, or `fallback`. Where `choices` are given, any other value is an InputError.
  std::string text(const std::string &name, const std::string &fallback, const std::vector<std::string> &choices = {});
  /// true/false, on/off, yes/no or 1/0.
  bool flag(const std::string &name, bool fallback);
  /// A whole number not below `least`.
  std::int64_t number(const std::string &name, std::int64_t fallback, std::int64_t least);
  /// Those of `names` that were given, compared without case and returned as `names` spells them.
  std::map<std::string, std::string> pass_through(const std::vector<std::string> &names);
  /// Those whose name begins with `prefix`, without it.
  std::map<std::string, std::string> prefixed(const std::string &prefix);
  /// Throws InputError for a parameter nobody took, naming the nearest one that somebody would have.
  void finish(const std::string &engine) const;

private:
  std::map<std::string, std::string> given_;
  std::vector<std::string> known_;
  std::vector<std::string> taken_;
};

/// The text with its ASCII letters in lower case.
std::string lower_case(std::string text);

/// The word of `words` nearest to `word` by edit distance without case; empty when none is near.
std::string nearest(const std::string &word, const std::vector<std::string> &words);

} // namespace tailrace::io
