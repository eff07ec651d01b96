#pragma once

#include <gtest/gtest.h>

#include <string>

namespace tailrace::test {

/// The text of the error that `work` throws. Every rank must get an error of type E.
template <class E, class Work> std::string error_of(Work work) {
  try {
    work();
  } catch (const E &error) {
    return error.what();
  }
  ADD_FAILURE() << "no error of the expected type";
  return {};
}

inline bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace tailrace::test
