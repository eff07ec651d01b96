#include <tailrace/support/error.hpp>

namespace tailrace {
namespace {

// what() is a text of C: it ends at the first NUL, and a name that a user gave may hold one.
std::string without_nul(std::string text) {
  static const std::string written = "\\u0000";
  for (auto place = text.find('\0'); place != std::string::npos; place = text.find('\0', place + written.size()))
    text.replace(place, 1, written);
  return text;
}

} // namespace

Error::Error(const std::string &text) : std::runtime_error(without_nul(text)) {}

} // namespace tailrace
