#include "env/isolate/serve.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <hotloop/error.hpp>

#include "core/phase_clock.hpp"

namespace hotloop {
namespace {

struct Served {
  std::unique_ptr<WorldArray> worlds;
  int count = 0;
  SharedRows rows{};
  std::span<std::byte> memory{};  // where the rows are
  Picture picture{};

  ~Served() {
    if (!memory.empty()) munmap(memory.data(), memory.size());
  }

  // Called after everything that changes the state of rows.
  void show(int begin, int end) {
    worlds->observe(begin, end, rows.obs);
    if (!rows.mask.empty()) worlds->mask(begin, end, rows.mask);
  }
};

class Server {
 public:
  Server(EnvEntry entry, int memory) : entry_(std::move(entry)), memory_(memory) {}

  const EnvSpec& spec() const { return *entry_.spec; }

  void handle(const Request& request, Answer& answer) {
    auto* served = static_cast<Served*>(request.worlds);
    const int row = request.begin;
    switch (request.command) {
      case HostCommand::load:
        break;
      case HostCommand::make: {
        auto made = std::make_unique<Served>();
        made->worlds =
            request.plain ? entry_.make_one_by_one(request.count) : entry_.make(request.count);
        made->count = request.count;
        answer.has_mask = made->worlds->has_mask();
        answer.checks_state = made->worlds->checks_state();
        answer.row_bytes = made->worlds->row_bytes();
        answer.worlds = made.release();
        break;
      }
      case HostCommand::attach: {
        const WorldArray& worlds = *served->worlds;
        const auto place = [&](std::byte* at) {
          return served->rows.place(at, worlds.spec(), served->count, worlds.has_mask(),
                                    worlds.row_bytes());
        };
        const std::size_t bytes = place(nullptr);
        served->memory = {map(request.offset, bytes), bytes};
        place(served->memory.data());
        break;
      }
      case HostCommand::destroy:
        delete served;
        break;
      case HostCommand::clear:
        served->worlds->clear();
        break;
      case HostCommand::reset: {
        Rng rng(request.stream);
        served->worlds->reset(row, rng);
        answer.draws = rng.state().draws;
        served->show(row, row + 1);
        break;
      }
      case HostCommand::step:
        step(*served, request);
        break;
      case HostCommand::measure:
        served->worlds->measure(row, rows_of(served->rows.measures, row, row + 1, measures()));
        break;
      case HostCommand::picture:
        served->picture = served->worlds->picture(row);
        answer.width = served->picture.width;
        answer.height = served->picture.height;
        break;
      case HostCommand::fetch: {
        const std::vector<std::uint8_t>& rgb = served->picture.rgb;
        std::byte* to = map(request.offset, rgb.size());
        std::memcpy(to, rgb.data(), rgb.size());
        munmap(to, rgb.size());
        break;
      }
      case HostCommand::save:
        served->worlds->save_row(row, state(*served, row));
        break;
      case HostCommand::restore:
        answer.is_valid = served->worlds->restore_row(row, state(*served, row));
        if (answer.is_valid != 0) served->show(row, row + 1);
        break;
      case HostCommand::check:
        served->worlds->check_rows(served->rows.obs, served->rows.mask);
        break;
    }
  }

 private:
  void step(Served& served, const Request& request) {
    ActionRows actions;
    actions.discrete = served.rows.discrete;
    actions.continuous = served.rows.continuous;
    const RngState& at = request.stream;
    served.worlds->step(request.begin, request.end, actions, at.seed, at.purpose, at.step,
                        served.rows.rewards, served.rows.terminated);
    served.show(request.begin, request.end);
    if (!served.rows.reward_parts.empty()) {
      served.worlds->reward_parts(request.begin, request.end, served.rows.reward_parts);
    }
  }

  std::size_t measures() const { return static_cast<std::size_t>(spec().measure_count()); }
  std::byte* state(Served& served, int row) const {
    return &served.rows.states[static_cast<std::size_t>(row) * served.worlds->row_bytes()];
  }
  std::byte* map(std::uint64_t offset, std::size_t bytes) const {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_,
                    static_cast<off_t>(offset));
    if (at == MAP_FAILED) throw RunError("cannot share memory with the environment's process");
    return static_cast<std::byte*>(at);
  }

  EnvEntry entry_;
  int memory_;
};

void write_text(Answer& answer, std::string_view text) {
  answer.length = static_cast<std::uint32_t>(std::min(text.size(), answer.text.size()));
  text.copy(answer.text.data(), answer.length);
}

// The strings of a spec point into the memory of this process: they are sent one after the other.
void write_spec(Answer& answer, const EnvSpec& spec) {
  std::string all;
  for_each_text(spec, [&](std::string_view text) { (all += text) += '\0'; });
  if (all.size() > answer.text.size()) {
    throw UsageError("the names and descriptions in its spec are too long");
  }
  answer.spec = spec;
  write_text(answer, all);
}

template <class Body>
void answer_with(Answer& answer, Body&& body) {
  answer.failure = CallFailure::none;
  answer.length = 0;
  try {
    body();
  } catch (const WorldError& error) {
    answer.failure = error.is_memory_intact ? CallFailure::run : CallFailure::stray_write;
    write_text(answer, error.what());
  } catch (const UsageError& error) {
    answer.failure = CallFailure::usage;
    write_text(answer, error.what());
  } catch (const std::exception& error) {
    answer.failure = CallFailure::run;
    write_text(answer, error.what());
  }
}

[[noreturn]] void serve_channel(Channel& channel, Server& server) {
  while (true) {
    while (!channel.wait_for(Side::host, 0)) {
    }
    const std::uint64_t begin = PhaseClock::ticks();
    answer_with(channel.answer, [&] { server.handle(channel.request, channel.answer); });
    channel.answer.ticks = PhaseClock::ticks() - begin;
    channel.hand_to(Side::caller);
  }
}

// The parent decides when the environment ends: nothing that stops the parent, such as Ctrl-C or a
// scheduler's signal to all processes, may end it before the parent has saved.
void prepare_process(int memory, const Isolation& options) {
  setsid();
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (options.memory_gb > 0) {
    long pages = 0;  // what was inherited does not count
    if (std::FILE* statm = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(statm, "%ld", &pages) != 1) pages = 0;
      std::fclose(statm);
    }
    const double bytes = static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) +
                         options.memory_gb * 1e9;
    const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
    setrlimit(RLIMIT_AS, &limit);
  }
  close_range(3, static_cast<unsigned>(memory) - 1, 0);
  close_range(static_cast<unsigned>(memory) + 1, ~0U, 0);
  // A call to exit() must not run what the parent has registered.
  on_exit([](int code, void*) { _exit(code); }, nullptr);
}

}  // namespace

void serve(SharedMemory& shared, int channels, int memory, pid_t parent,
           const std::function<EnvEntry()>& load, const Isolation& options) {
  prepare_process(memory, options);
  keep_notes_in(shared.calls);
  // Not PR_SET_PDEATHSIG: that signal comes when the *thread* that forked ends.
  std::thread([parent] {
    while (getppid() == parent) usleep(200'000);
    _exit(EXIT_FAILURE);
  }).detach();
  Channel& first = shared.channels[0];
  std::unique_ptr<Server> server;
  answer_with(first.answer, [&] {
    server = std::make_unique<Server>(load(), memory);
    write_spec(first.answer, server->spec());
  });
  const bool is_loaded = first.answer.failure == CallFailure::none;
  first.hand_to(Side::caller);
  if (!is_loaded) _exit(EXIT_FAILURE);
  for (int i = 1; i < channels; ++i) {
    std::thread(serve_channel, std::ref(shared.channels[i]), std::ref(*server)).detach();
  }
  serve_channel(first, *server);
}

}  // namespace hotloop
