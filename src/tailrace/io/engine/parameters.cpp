#include <tailrace/io/engine/parameters.hpp>

#include <tailrace/support/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

namespace tailrace::io {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

namespace {

std::size_t edit_distance(const std::string &a, const std::string &b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

} // namespace

std::string nearest(const std::string &word, const std::vector<std::string> &words) {
  std::string best;
  std::size_t distance = std::max<std::size_t>(3, word.size() / 2);
  for (const auto &candidate : words) {
    const std::size_t d = edit_distance(lower_case(word), lower_case(candidate));
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string Parameters::text(const std::string &name, const std::string &fallback,
                             const std::vector<std::string> &choices) {
  known_.push_back(name);
  const auto found = given_.find(name);
  if (found == given_.end())
    return fallback;
  taken_.push_back(name);
  if (!choices.empty() && std::find(choices.begin(), choices.end(), found->second) == choices.end())
    throw InputError(
        fmt::format("parameter {} = '{}': expected one of {}", name, found->second, fmt::join(choices, ", ")));
  return found->second;
}

bool Parameters::flag(const std::string &name, bool fallback) {
  const std::string value = lower_case(text(name, fallback ? "true" : "false"));
  if (value == "true" || value == "on" || value == "yes" || value == "1")
    return true;
  if (value == "false" || value == "off" || value == "no" || value == "0")
    return false;
  throw InputError(fmt::format("parameter {} = '{}': expected true or false", name, value));
}

std::int64_t Parameters::number(const std::string &name, std::int64_t fallback, std::int64_t least) {
  const std::string value = text(name, std::to_string(fallback));
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || result < least)
    throw InputError(fmt::format("parameter {} = '{}': expected a whole number, at least {}", name, value, least));
  return result;
}

std::map<std::string, std::string> Parameters::pass_through(const std::vector<std::string> &names) {
  std::map<std::string, std::string> result;
  for (const auto &name : names) {
    known_.push_back(name);
    for (const auto &[given, value] : given_)
      if (lower_case(given) == lower_case(name)) {
        taken_.push_back(given);
        result[name] = value;
      }
  }
  return result;
}

std::map<std::string, std::string> Parameters::prefixed(const std::string &prefix) {
  std::map<std::string, std::string> result;
  known_.push_back(prefix + "NAME");
  for (const auto &[given, value] : given_)
    if (given.size() > prefix.size() && given.compare(0, prefix.size(), prefix) == 0) {
      taken_.push_back(given);
      result[given.substr(prefix.size())] = value;
    }
  return result;
}

void Parameters::finish(const std::string &engine) const {
  for (const auto &[name, value] : given_) {
    if (std::find(taken_.begin(), taken_.end(), name) != taken_.end())
      continue;
    const std::string near = nearest(name, known_);
    throw InputError(
        near.empty()
            ? fmt::format("engine {} has no parameter '{}'; it knows {}", engine, name, fmt::join(known_, ", "))
            : fmt::format("engine {} has no parameter '{}'; did you mean '{}'?", engine, name, near));
  }
}

} // namespace tailrace::io
