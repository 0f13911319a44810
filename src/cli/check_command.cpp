// hotloop check: tests an environment and reports what is wrong with it.
#include <fmt/format.h>

#include <cstdio>

#include <hotloop/error.hpp>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "env/file/world_check.hpp"

namespace hotloop {
namespace {

struct CheckArguments {
  std::string world;  // a file or a registered name
  double timeout = 5;
  std::uint64_t seed = 1;
  int steps = 200;
  bool json = false;
};

Json list_of(const std::vector<WorldFinding>& findings) {
  Json list = Json::array();
  for (const WorldFinding& f : findings) list.push_back({{"what", f.what}, {"hint", f.hint}});
  return list;
}

void print_findings(std::string_view kind, const std::vector<WorldFinding>& findings) {
  for (const WorldFinding& f : findings) {
    print_result("{}: {}\n", kind, f.what);
    if (!f.hint.empty()) print_result("  hint: {}\n", f.hint);
  }
}

int check_command(const CheckArguments& arguments) {
  const CheckReport report = [&] {
    const StdoutGuard guard;
    return check_world(
        arguments.world,
        {.timeout = arguments.timeout, .seed = arguments.seed, .steps = arguments.steps});
  }();
  const bool passed = report.failures.empty();
  if (arguments.json) {
    const Json json = {{"world", report.name},
                       {"passed", passed},
                       {"failures", list_of(report.failures)},
                       {"warnings", list_of(report.warnings)},
                       {"facts", report.facts},
                       {"steps_per_second", report.steps_per_second},
                       {"compiler_warnings", report.compiler_warnings}};
    print_result("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else {
    print_findings("FAILED", report.failures);
    print_findings("warning", report.warnings);
    if (!report.compiler_warnings.empty()) {
      print_result("compiler warnings:\n{}", report.compiler_warnings);
    }
    for (const std::string& fact : report.facts) print_result("  {}\n", fact);
    if (report.steps_per_second > 0) {
      print_result("  {} steps/s on one thread, without learning\n",
                   short_number(report.steps_per_second));
    }
    print_result("{}: {}\n", report.name,
                 passed ? "passed"
                        : fmt::format("failed, {} finding{}", report.failures.size(),
                                      report.failures.size() == 1 ? "" : "s"));
  }
  return passed ? 0 : 1;
}

const Command kAddCheck(
    {"check", "run the test battery on an environment, and explain what is wrong with it",
     [](CLI::App& app, int& code) {
       static CheckArguments check;
       app.add_option("ENV", check.world, "a .cpp file, or a name (see: hotloop list envs)")
           ->required();
       app.add_option("--timeout", check.timeout,
                      "seconds that one call of the environment may take")
           ->check(CLI::Range(0.01, 100'000.0))
           ->capture_default_str();
       app.add_option("--seed", check.seed, "random seed")->check(kSeed)->capture_default_str();
       app.add_option("--steps", check.steps, "steps of each test run")
           ->check(CLI::Range(10, 1'000'000))
           ->capture_default_str();
       app.add_flag("--json", check.json, "print one JSON object");
       app.callback([&code] { code = check_command(check); });
     }});

}  // namespace
}  // namespace hotloop
