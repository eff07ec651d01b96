#pragma once

#include <stdexcept>
#include <string>

namespace tailrace {

/// Base of every error this library throws. The text names the thing, what was expected, what was found and how to fix
/// it.
class Error : public std::runtime_error {
public:
  /// A NUL in the text is shown as JSON shows it.
  explicit Error(const std::string &text);
};

/// The caller gave an argument that is not valid: a shape, a name, a parameter.
class InputError : public Error {
public:
  using Error::Error;
};

/// A file or stream could not be opened, read or written, or its contents are damaged.
class IoError : public Error {
public:
  using Error::Error;
};

} // namespace tailrace
