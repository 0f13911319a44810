// The command line: a thin layer over the other rooms. Exit codes: 0 done, 1 failed while running,
// 2 bad usage or bad spec, 128 + n stopped by signal n.
#include <algorithm>
#include <new>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
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

}  // namespace
}  // namespace hotloop

int main(int argc, char** argv) {
  try {
    return hotloop::run(argc, argv);
  } catch (
      const hotloop::UsageError& e) {  // what it quotes from a file must not control a terminal
    fmt::print(stderr, "hotloop: {}\n", hotloop::printable_message(e.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hotloop: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "hotloop: {}\n", hotloop::printable_message(e.what()));
    return 1;
  }
}
