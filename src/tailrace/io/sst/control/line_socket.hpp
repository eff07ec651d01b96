#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace tailrace::io {

/// A connected TCP socket that never blocks and carries lines of JSON. Local.
class LineSocket {
public:
  explicit LineSocket(int descriptor = -1) : descriptor_(descriptor) {}
  ~LineSocket() { close(); }
  LineSocket(LineSocket &&other) noexcept;
  LineSocket &operator=(LineSocket &&other) noexcept;

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  void close() noexcept;
  /// The complete lines that have arrived. A line that is longer than `longest_line` or holds no JSON object closes the
  /// socket; so does the end of the other side.
  std::vector<nlohmann::json> take();
  /// Sends a line without waiting: when the other side does not take it, the socket is closed.
  void send(const nlohmann::json &line);

  static constexpr std::size_t longest_line = 64 << 10;

private:
  int descriptor_;
  std::string rest_; ///< the beginning of a line whose end has not arrived
};

} // namespace tailrace::io
