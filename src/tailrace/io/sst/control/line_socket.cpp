#include <tailrace/io/sst/control/line_socket.hpp>

#include <tailrace/io/data/json.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace tailrace::io {

using nlohmann::json;

LineSocket::LineSocket(LineSocket &&other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), rest_(std::move(other.rest_)) {}

LineSocket &LineSocket::operator=(LineSocket &&other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
    rest_ = std::move(other.rest_);
  }
  return *this;
}

void LineSocket::close() noexcept {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  descriptor_ = -1;
}

std::vector<json> LineSocket::take() {
  std::vector<json> lines;
  char buffer[4096];
  bool ended = false;
  // No more than this in one call: a peer that sends without end must not keep us here.
  for (std::size_t taken = 0; open() && !ended && taken < longest_line;) {
    const ssize_t got = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) {
      rest_.append(buffer, static_cast<std::size_t>(got));
      taken += static_cast<std::size_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      ended = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      break;
    }
  }
  std::size_t end = 0;
  for (std::size_t begin = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    json line;
    try {
      line = parse_json(std::string_view(rest_).substr(begin, end - begin));
    } catch (const json::exception &) { // no line of ours
    }
    if (!line.is_object()) {
      ended = true;
      break;
    }
    lines.push_back(std::move(line));
  }
  if (const std::size_t last = rest_.rfind('\n'); last != std::string::npos)
    rest_.erase(0, last + 1);
  if (ended || rest_.size() > longest_line)
    close();
  return lines;
}

void LineSocket::send(const json &line) {
  if (!open())
    return;
  const std::string bytes = json_text(line) + "\n";
  ssize_t sent = 0;
  do
    sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(bytes.size()))
    close();
}

} // namespace tailrace::io
