#include <tailrace/io/storage/json_log.hpp>

#include <tailrace/io/data/checksum.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace tailrace::io {

using nlohmann::json;

namespace {

constexpr std::size_t prefix = 20; // ["0123456789abcdef", and a blank less

std::string sum_of(std::string_view text) {
  RunningChecksum sum;
  sum.add(text.data(), text.size());
  return sum.text();
}

} // namespace

std::string checked_line(const json &object) {
  const std::string text = valid_json_text(object);
  return fmt::format("[\"{}\",{}]", sum_of(text), text);
}

json checked_object(std::string_view line) {
  if (line.size() < prefix + 2 || line.substr(0, 2) != "[\"" || line.back() != ']')
    throw std::out_of_range("no line of ours");
  const std::string_view text = line.substr(prefix, line.size() - prefix - 1);
  if (sum_of(text) != line.substr(2, 16))
    throw std::out_of_range("it differs from its checksum");
  return parse_json(text);
}

std::uint64_t sum_in(std::string_view line) {
  std::uint64_t sum = 0;
  std::from_chars(line.data() + 2, line.data() + 18, sum, 16);
  return sum;
}

std::vector<StepLog::Line> StepLog::replace(const std::vector<json> &objects, bool sync) {
  std::vector<Line> lines;
  std::string text;
  for (const auto &object : objects) {
    const std::string line = checked_line(object);
    lines.push_back(
        {static_cast<std::int64_t>(text.size()), static_cast<std::int64_t>(line.size()), sum_in(line), object});
    text += line + "\n";
  }
  read_ = FileDescriptor();
  file_ = replace_file(path_, text, sync);
  cut_ = false;
  end_ = static_cast<std::int64_t>(text.size());
  own_.note(path_, file_);
  return lines;
}

StepLog::Line StepLog::append(const json &object, bool sync) {
  if (!file_)
    file_ = FileDescriptor(path_, O_WRONLY);
  own_.check(); // after the open, so that what it opened is checked too
  if (cut_ && ::ftruncate(file_.get(), end_) != 0)
    throw file_error("cut", path_, errno);
  cut_ = false;
  const std::string line = checked_line(object) + "\n";
  Line added{end_, static_cast<std::int64_t>(line.size()) - 1, sum_in(line), object};
  try {
    write_all(file_.get(), line.data(), static_cast<std::int64_t>(line.size()), end_, path_);
    if (sync && ::fsync(file_.get()) != 0)
      throw file_error("sync", path_, errno);
  } catch (...) {
    if (::ftruncate(file_.get(), end_) != 0) {
      file_ = FileDescriptor();
      cut_ = true;
    }
    throw;
  }
  end_ += static_cast<std::int64_t>(line.size()); // the line counts, so that nothing may fail from here on
  own_.grew(path_, end_);
  return added;
}

StepLog::Found StepLog::load() {
  Found found;
  read_ = FileDescriptor(path_, O_RDONLY);
  const std::string text = read_file(read_, path_);
  std::size_t begin = 0;
  for (std::int64_t number = 1; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      break;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    try {
      json object = checked_object(line);
      found.lines.push_back(
          {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(line.size()), sum_in(line), std::move(object)});
    } catch (const std::exception &error) {
      found.damage.push_back(fmt::format("{}: line {} is damaged ({})", path_, number, error.what()));
    }
    begin = end + 1;
  }
  end_ = static_cast<std::int64_t>(begin);
  own_.note(path_, read_);
  return found;
}

json StepLog::read(std::int64_t offset, std::int64_t length, std::uint64_t sum) {
  if (!read_)
    read_ = FileDescriptor(path_, O_RDONLY);
  std::string line(static_cast<std::size_t>(length), '\0');
  read_all(read_.get(), line.data(), length, offset, path_);
  try {
    json object = checked_object(line);
    if (sum_in(line) != sum)
      throw std::out_of_range("it is another line than before");
    return object;
  } catch (const std::exception &error) {
    throw IoError(fmt::format("cannot read {}: the line at byte {} is damaged ({})", path_, offset, error.what()));
  }
}

bool StepLog::replaced() const { return read_ && !is_at(read_, path_); }

} // namespace tailrace::io
