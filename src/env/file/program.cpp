#include "env/file/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include <hotloop/error.hpp>

#include "core/stopwatch.hpp"

extern char** environ;

namespace hotloop {
namespace {

constexpr std::size_t kMaxText = 1 << 20;  // a world may print endlessly

// Reads until the other end of the pipe is closed. False if that takes longer than `seconds`.
bool read_all(int pipe, double seconds, std::string& text) {
  const Stopwatch watch;
  std::array<char, 4096> buffer{};
  for (;;) {
    int left = -1;  // no limit
    if (seconds > 0) left = static_cast<int>(1e3 * std::max(0.0, seconds - watch.seconds()));
    pollfd ready{pipe, POLLIN, 0};
    const int count = poll(&ready, 1, left);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || (seconds > 0 && watch.seconds() > seconds)) return false;
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMaxText - text.size()));
  }
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramOptions& options) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) throw RunError("cannot make a pipe");
  std::vector<char*> words;
  for (const std::string& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (options.only_errors) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  } else {
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  // Messages must be in English to be parsed.
  std::vector<std::string> settings = options.settings;
  const std::size_t own = settings.size();
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    const bool is_replaced =
        std::any_of(settings.begin(), settings.begin() + static_cast<std::ptrdiff_t>(own),
                    [&](const std::string& mine) {
                      return text.starts_with(mine.substr(0, mine.find('=') + 1));
                    });
    if (!text.starts_with("LC_") && !text.starts_with("LANG") && !is_replaced) {
      settings.emplace_back(text);
    }
  }
  settings.emplace_back("LC_ALL=C");
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0], &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    throw RunError(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
  }
  ProgramResult result;
  result.timed_out = !read_all(pipe_ends[0], options.seconds, result.text);
  if (result.timed_out) kill(child, SIGKILL);
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace hotloop
