// hotloop bench: starts hotloop_bench in the same folder. It is a separate program because it links
// the libraries that it compares with, and the trainer does not.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include <hotloop/error.hpp>

#include "cli/command.hpp"

namespace hotloop {
namespace {

int bench_command(const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (self.parent_path() / "hotloop_bench").string();
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (const int changed : {SIGPIPE, SIGXFSZ}) std::signal(changed, SIG_DFL);
  execv(program.c_str(), argv.data());
  throw RunError(fmt::format("cannot start '{}': {}; it is built together with hotloop", program,
                             std::strerror(errno)));
}

const Command kAddBench({"bench",
                         "run benchmarks: update, qloss, dag, ppo, sac, durotaxis, env, snake, "
                         "seeds, kernels, products, threads, clock (default: all)",
                         [](CLI::App& app, int& code) {
                           app.allow_extras();
                           app.callback([&app, &code] { code = bench_command(app.remaining()); });
                         }});

}  // namespace
}  // namespace hotloop
