#include "cli/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace hotloop {
namespace {

// Standard output leads into a pipe while it lives.
class PipedStdout {
 public:
  PipedStdout() {
    std::fflush(stdout);
    EXPECT_EQ(pipe(ends_), 0);
    saved_ = dup(STDOUT_FILENO);
    dup2(ends_[1], STDOUT_FILENO);
  }
  ~PipedStdout() {
    restore();
    close(ends_[0]);
  }
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    close(ends_[1]);
    saved_ = -1;
  }
  // Everything up to the end; after restore(), or while another thread writes.
  std::string read_all(std::size_t expected) const {
    std::string text;
    char buffer[4096];
    while (text.size() < expected) {
      const ssize_t n = read(ends_[0], buffer, sizeof(buffer));
      if (n <= 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1}, saved_ = -1;
};

TEST(StdoutGuard, WritesWithoutAFreeDescriptor) {
  PipedStdout piped;
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const int next = dup(STDERR_FILENO);  // the lowest number that is free
  close(next);
  rlimit none = old;
  none.rlim_cur = static_cast<rlim_t>(next);
  setrlimit(RLIMIT_NOFILE, &none);
  {
    const StdoutGuard guard;
    EXPECT_NO_THROW(guard.write("{}\n"));
  }
  setrlimit(RLIMIT_NOFILE, &old);
  piped.restore();
  EXPECT_EQ(piped.read_all(3), "{}\n");
}

// A signal that arrives while a full pipe blocks the write.
TEST(StdoutGuard, WritesOnAfterASignal) {
  struct sigaction handler {
  }, old{};
  handler.sa_handler = [](int) {};  // without SA_RESTART, so that write fails with EINTR
  sigaction(SIGUSR2, &handler, &old);
  PipedStdout piped;
  const std::string text(1 << 20, 'x');
  std::string error;
  std::atomic<bool> done{false};
  {
    const StdoutGuard guard;
    std::thread writer([&] {
      try {
        guard.write(text);
      } catch (const RunError& e) {
        error = e.what();
      }
      done = true;
    });
    for (int i = 0; i < 20 && !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      pthread_kill(writer.native_handle(), SIGUSR2);
    }
    EXPECT_EQ(piped.read_all(text.size()).size(), text.size());
    writer.join();
  }
  sigaction(SIGUSR2, &old, nullptr);
  EXPECT_EQ(error, "");
}

// What they quote from a file must not control the terminal; only our own status lines do.
TEST(Output, NotesAndTextShowNoControlCharacters) {
  PipedStdout piped;
  print_text("{}\n", "a\x1b[2J \xe2\x80\xae");
  std::fflush(stdout);
  const int saved = dup(STDERR_FILENO);
  dup2(STDOUT_FILENO, STDERR_FILENO);
  print_note("{}\n", "b\r\xc2\x9b");
  print_status("c\x1b[2J");
  dup2(saved, STDERR_FILENO);
  close(saved);
  piped.restore();
  const std::string expected = "a\\x1b[2J \\xe2\\x80\\xae\nb\\x0d\\xc2\\x9b\n\r\x1b[Kc\\x1b[2J";
  EXPECT_EQ(piped.read_all(expected.size() + 1), expected);
}

}  // namespace
}  // namespace hotloop
