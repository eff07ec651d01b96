#pragma once

#include <stdexcept>
#include <string>

namespace tailrace {

/// Base of every error this library throws. The text names the thing, what was expected, what was found and how to fix
/// it.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
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
