#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace tailrace::io::h5 {

/// Bytes of a file that are in memory. Pieces neither overlap nor touch.
class HeldBytes {
public:
  using Pieces = std::map<std::int64_t, std::vector<char>>;
  using Gap = std::function<void(std::int64_t begin, std::int64_t size)>;

  void put(std::int64_t begin, const char *data, std::int64_t size);
  /// Copies what is held of [begin, begin + size) over `data`, and calls `gap` for what is not.
  void get(std::int64_t begin, char *data, std::int64_t size, const Gap &gap = {}) const;
  bool meets(std::int64_t begin, std::int64_t end) const;
  /// Takes the pieces out, and puts others in.
  Pieces exchange(Pieces pieces);
  const Pieces &pieces() const { return pieces_; }

private:
  Pieces pieces_;
};

/// Adds to `parts` what a piece changes of the bytes before, which may be fewer: the rest is new.
void add_differences(HeldBytes::Pieces &parts, std::int64_t begin, const std::vector<char> &bytes,
                     const std::vector<char> &before);

} // namespace tailrace::io::h5
