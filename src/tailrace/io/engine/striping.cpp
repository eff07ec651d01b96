#include <tailrace/io/engine/striping.hpp>

#include <tailrace/support/file_descriptor.hpp>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

extern char **environ; // NOLINT: POSIX defines this name

namespace tailrace::io {

namespace {

struct Outcome {
  int code = 0;
  std::string text; ///< output of the program
};

std::string read_pipe(int fd) {
  std::string text;
  std::array<char, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

/// Runs a program found on PATH. Uses no shell, because file names can hold any character. Empty: no such program.
std::optional<Outcome> run(std::vector<std::string> words) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0)
    throw file_error("run", words[0], errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  posix_spawn_file_actions_addclose(&actions, pipe[0]);
  std::vector<char *> arguments;
  for (auto &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  Outcome outcome{127, failed ? "" : read_pipe(pipe[0])};
  ::close(pipe[0]);
  int status = 0;
  if (failed || ::waitpid(child, &status, 0) != child)
    return std::nullopt;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  if (outcome.code == 127)
    return std::nullopt;
  while (!outcome.text.empty() && std::isspace(static_cast<unsigned char>(outcome.text.back())))
    outcome.text.pop_back();
  return outcome;
}

/// The striping of a place in the words of lfs, on one line; empty if it is not on Lustre.
std::optional<std::string> striping_of(const std::string &path) {
  const auto count = run({"lfs", "getstripe", "-d", "-c", path}), size = run({"lfs", "getstripe", "-d", "-S", path});
  if (!count || !size || count->code != 0 || size->code != 0)
    return std::nullopt;
  return fmt::format("stripe count {}, stripe size {}", count->text, size->text);
}

} // namespace

Striping take_striping(Parameters &parameters) {
  Striping result{parameters.number("stripe_count", 0, -1), parameters.text("stripe_size", "")};
  const std::string &size = result.size;
  const auto digits = std::find_if_not(size.begin(), size.end(), [](unsigned char c) { return std::isdigit(c); });
  const std::string unit(digits, size.end());
  if (!size.empty() && (digits == size.begin() || (!unit.empty() && unit != "k" && unit != "M" && unit != "G")))
    throw InputError(
        fmt::format("parameter stripe_size = '{}': expected bytes, as 1048576, or with k, M or G, as 4M", size));
  return result;
}

std::string apply_striping(const Striping &striping, const std::string &path, Kind kind) {
  const bool asked = striping.count != 0 || !striping.size.empty();
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string place = kind == Kind::directory ? path : parent.empty() ? "." : parent.string();
  const auto inherited = striping_of(place);
  if (!inherited)
    return asked ? fmt::format("striping does not apply: {} is not on Lustre, or there is no lfs here", path) : "";
  if (!asked)
    return "inherits " + *inherited;
  std::vector<std::string> words{"lfs", "setstripe"};
  if (striping.count != 0)
    words.insert(words.end(), {"-c", std::to_string(striping.count)});
  if (!striping.size.empty())
    words.insert(words.end(), {"-S", striping.size});
  words.push_back(path);
  if (kind == Kind::file)
    ::unlink(path.c_str()); // an existing file keeps its old striping
  if (const auto outcome = run(words); !outcome || outcome->code != 0)
    throw IoError(fmt::format("cannot stripe {}: lfs says: {}", path, outcome ? outcome->text : "nothing"));
  return "has " + striping_of(path).value_or("a striping that lfs does not tell");
}

} // namespace tailrace::io
