// The command line: a thin layer over the other rooms. Exit codes: 0 done, 1 failed while running,
// 2 bad usage or bad spec, 128 + n stopped by signal n.
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "core/stop_signal.hpp"
#include "core/system.hpp"
#include "core/text.hpp"

namespace hotloop {

std::vector<CommandEntry>& command_list() {
  static std::vector<CommandEntry> all;
  return all;
}

namespace {

int run(int argc, char** argv) {
  CLI::App app{
      "hotloop: a reinforcement-learning trainer whose hot loop contains nothing but the maths",
      "hotloop"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  int code = 0;
  std::vector<CommandEntry> commands = command_list();
  std::ranges::sort(commands, {}, &CommandEntry::name);
  std::vector<std::string_view> names;
  for (const CommandEntry& command : commands) {
    command.add(*app.add_subcommand(command.name, command.about), code);
    names.push_back(command.name);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    const std::string_view first = argc > 1 ? argv[1] : "";
    const bool known = std::ranges::find(names, first) != names.end();
    if (!first.empty() && !first.starts_with("-") && !known) {
      throw UsageError(fmt::format("'{}' is not a command; {}", first, suggestion(first, names)));
    }
    throw UsageError(fmt::format("{} (see: hotloop {}{}--help)", e.what(), known ? first : "",
                                 known ? " " : ""));
  }
  return code;
}

// If a stopped program cannot report its results, the signal is still the reason why it ended. If a
// pipe was closed by its reader, as in `hotloop list specs | head -1`, there is nobody to tell.
int output_failed(const OutputError& error) {
  if (stop_signal() != 0) return stop_exit_code();
  if (error.reason() == EPIPE) return 128 + SIGPIPE;
  print_note("hotloop: {}\n", error.what());
  return 1;
}

}  // namespace
}  // namespace hotloop

int main(int argc, char** argv) {
  using namespace hotloop;
  try {
    prepare_process();
    const int code = run(argc, argv);
    flush_results();
    return code;
  } catch (const UsageError& error) {
    print_note("hotloop: {}\n", error.what());
    return 2;
  } catch (const Stopped& stopped) {
    return 128 + stopped.signal();
  } catch (const OutputError& error) {
    return output_failed(error);
  } catch (const std::bad_alloc&) {
    report_out_of_memory();
    return 1;
  } catch (const std::exception& error) {
    print_note("hotloop: {}\n", error.what());
    return 1;
  }
}
