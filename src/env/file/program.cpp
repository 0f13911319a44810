#include "env/file/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include <hotloop/error.hpp>

#include "core/stop_signal.hpp"
#include "core/stopwatch.hpp"

extern char** environ;

namespace hotloop {
namespace {

constexpr std::size_t kMaxText = 1 << 20;  // a world may print endlessly

// Reads until the other end of the pipe is closed. False if that takes longer than `seconds`, or if
// `stop` is set.
bool read_all(int pipe, double seconds, const std::atomic<bool>& stop, std::string& text) {
  constexpr double kLook = 0.1;  // at `stop`, in seconds: another thread may handle the signal
  const Stopwatch watch;
  std::array<char, 4096> buffer{};
  for (;;) {
    const double left = seconds > 0 ? seconds - watch.seconds() : kLook;
    if (stop || left < 0) return false;
    pollfd ready{pipe, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(1e3 * std::min(left, kLook)));
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), kMaxText - text.size()));
  }
}

// Asks a program and the programs that it started to end: a compiler removes its temporary files.
void ask_to_end(pid_t leader) {
  kill(-leader, SIGTERM);
  constexpr int kPatience = 50;  // times 10 ms
  for (int i = 0; i < kPatience; ++i) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(leader), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid == leader) {
      return;
    }
    usleep(10'000);
  }
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments,
                          const ProgramOptions& options) {
  std::array<int, 2> pipe_ends{};
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
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
  // Its own process group, so that a signal can end it together with the programs that it starts.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t changed;  // by this process, see cli/process.hpp
  sigemptyset(&changed);
  for (const int number : {SIGPIPE, SIGXFSZ}) sigaddset(&changed, number);
  posix_spawnattr_setsigdefault(&attributes, &changed);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::optional<StopSignal> stop(std::in_place);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0], &actions, &attributes, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    throw RunError(fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)));
  }
  ProgramResult result;
  result.timed_out = !read_all(pipe_ends[0], options.seconds, stop->requested(), result.text);
  if (stop->requested()) ask_to_end(child);
  if (result.timed_out) kill(-child, SIGKILL);
  close(pipe_ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  stop.reset();  // from here on a signal has its previous effect
  if (stop_signal() != 0) throw Stopped(fmt::format("{} was running", arguments[0]));
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace hotloop
