#include "env/file/sanitised.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include <hotloop/error.hpp>

#include "env/file/cache.hpp"
#include "env/file/program.hpp"
#include "env/file/world_file.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kPlaySeconds = 10;  // the program normally ends much earlier
constexpr std::size_t kMaxFindings = 3;

// One report of a sanitizer.
struct Report {
  std::string what;
  std::string hint;
  std::string place;  // "world.cpp:12"
  bool is_warning = false;
};

bool has(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// "/home/me/world.cpp:12:5" -> "world.cpp:12", as the author names the file; empty if the file is
// not the author's.
std::string own_place(std::string text, const std::string& source, const std::string& headers) {
  std::array<std::size_t, 2> colons{text.rfind(':'), std::string::npos};
  if (colons[0] == std::string::npos || colons[0] == 0) return "";
  colons[1] = text.rfind(':', colons[0] - 1);
  const auto is_number = [&](std::size_t begin, std::size_t end) {
    return begin < end && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                      text.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!is_number(colons[0] + 1, text.size())) return "";
  const bool has_column = colons[1] != std::string::npos && is_number(colons[1] + 1, colons[0]);
  const std::size_t line = has_column ? colons[1] : colons[0];
  const std::string file = text.substr(0, line);
  const std::string number = text.substr(line, has_column ? colons[0] - line : std::string::npos);
  if (file.starts_with("/usr/") || file.starts_with("..") || file.starts_with("nptl/") ||
      has(file, "/include/c++/") || (!headers.empty() && file.starts_with(headers + "/hotloop/"))) {
    return "";
  }
  std::error_code error;
  return (fs::equivalent(file, source, error) ? source : file) + number;
}

// "    #1 0x55 in World::step(int, hotloop::Rng&) /home/me/world.cpp:12" -> its place. A relative
// path, or one with spaces, is recognised only if it is that of the source, because function names
// contain spaces too.
std::string place_of_frame(std::string_view line, const std::string& source) {
  const std::size_t in = line.find(" in ");
  if (!line.starts_with("    #") || in == std::string_view::npos) return "";
  std::size_t path = line.find(" " + source + ":", in);
  if (path == std::string_view::npos) path = line.find(" /", in);
  return path == std::string_view::npos ? "" : std::string(line.substr(path + 1));
}

// From the undefined-behaviour sanitizer: "index 12 out of bounds for type 'int [12]'".
Report undefined_behaviour(const std::string& message) {
  Report report{.what = message, .hint = "", .place = "", .is_warning = false};
  if (message.starts_with("index ") && has(message, " out of bounds")) {
    const std::string index = message.substr(6, message.find(' ', 6) - 6);
    const std::size_t open = message.rfind('['), close = message.rfind(']');
    const std::string size = open < close && close != std::string::npos
                                 ? message.substr(open + 1, close - open - 1)
                                 : "";
    if (!size.empty()) {
      report.what = fmt::format("index {} of an array of {}; allowed: 0 to {}", index, size,
                                std::atol(size.c_str()) - 1);
    }
    report.hint =
        "memory next to the array is read or overwritten; make the array larger, or keep the "
        "index within it. Is spec.actions larger than an array that is indexed by the action?";
  } else if (has(message, "division by zero")) {
    report.what = "an integer divided by zero";
    report.hint = "look for / and % whose right side can be 0";
  } else if (has(message, "not a valid value for type")) {
    report.hint = "probably a member or variable without an initial value";
  } else {
    report.is_warning = true;
    report.hint =
        "C++ does not define the result, and compilers assume that it never happens; use "
        "unsigned or larger types, or check the value first";
  }
  return report;
}

// From the address sanitizer, by kind: "heap-buffer-overflow".
Report wrong_address(std::string_view kind) {
  Report report{.what = "", .hint = "", .place = "", .is_warning = false};
  report.hint =
      "look for an index beyond the end of an array, or an action used as an index into an array "
      "with fewer elements than there are actions";
  if (kind.starts_with("heap-buffer-overflow")) {
    report.what =
        "an access beyond the environment's own state, or beyond the row that it was given";
  } else if (kind.starts_with("stack-buffer-overflow") || kind.starts_with("stack-buffer-under") ||
             kind.starts_with("dynamic-stack-buffer-overflow")) {
    report.what = "an access beyond a local variable or array";
  } else if (kind.starts_with("global-buffer-overflow")) {
    report.what = "an access beyond a static or global variable or array";
  } else if (has(kind, "use-after")) {
    report.what = "an access to an object that no longer exists (" + std::string(kind) + ")";
    report.hint = "a pointer or span outlived what it points to";
  } else if (kind.starts_with("stack-overflow")) {
    report.what = "the stack is full";
    report.hint = "a function calls itself endlessly, or a local array is very large";
  } else if (kind.starts_with("FPE")) {
    report.what = "an integer divided by zero";
    report.hint = "look for / and % whose right side can be 0";
  } else if (kind.starts_with("SEGV") || kind.starts_with("BUS")) {
    report.what = "a read or write where there is no memory";
  } else {
    report.what = std::string(kind);
    report.hint = "";
  }
  return report;
}

// From the standard library: "array:208: ... operator[](size_type) ...:
// Assertion '__n < this->size()' failed."
Report failed_assertion(const std::string& message) {
  Report report{.what = message, .hint = "", .place = "", .is_warning = false};
  for (const char* type : {"std::array", "std::span", "std::vector"}) {
    if (!has(message, type) || !has(message, "operator[]")) continue;
    report.what = fmt::format("an index beyond the end of a {}", type);
    report.hint =
        "make it larger, or keep the index within it. Does spec.obs or spec.actions differ from "
        "what the code assumes?";
    break;
  }
  return report;
}

}  // namespace

SanitisedPlay read_sanitizers(std::string_view text, const std::string& source,
                              const std::string& headers) {
  std::vector<Report> reports;
  std::string assertion;  // of the standard library, which then aborts
  bool in_stack = false;  // in the first stack trace of the latest report
  std::stringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kUndefined = ": runtime error: ",
                               kAddress = "ERROR: AddressSanitizer: ";
    if (const auto at = line.find(kUndefined); at != std::string::npos) {
      reports.push_back(undefined_behaviour(line.substr(at + kUndefined.size())));
      reports.back().place = own_place(line.substr(0, at), source, headers);
      in_stack = true;
    } else if (const auto error = line.find(kAddress); error != std::string::npos) {
      std::string kind = line.substr(error + kAddress.size());
      kind.resize(std::min(kind.size(), kind.find(' ')));
      if (kind == "ABRT" && assertion.empty())
        break;  // the world's own assertion; the battery reports it
      reports.push_back(wrong_address(kind));
      if (kind == "ABRT") reports.back() = failed_assertion(assertion);
      in_stack = true;
    } else if (const auto failed = line.find("Assertion '"); failed != std::string::npos) {
      assertion = line;
    } else if (reports.empty()) {
      continue;
    } else if (line.empty()) {
      in_stack = false;
    } else if (const std::string frame = place_of_frame(line, source); !frame.empty()) {
      if (in_stack && reports.back().place.empty()) {
        reports.back().place = own_place(frame, source, headers);
      }
    } else if (const auto name = line.find(" global variable '");
               name != std::string::npos && has(line, " is located ")) {
      const std::size_t begin = line.find('\'', name) + 1;
      reports.back().what += " ('" + line.substr(begin, line.find('\'', begin) - begin) + "')";
    }
  }
  SanitisedPlay play;
  std::vector<std::string> places;  // one mistake may cause several reports at its line
  for (const Report& report : reports) {
    if (std::find(places.begin(), places.end(), report.place) != places.end()) continue;
    places.push_back(report.place);
    auto& findings = report.is_warning ? play.warnings : play.failures;
    if (findings.size() == kMaxFindings) continue;
    findings.push_back(
        {fmt::format("{}{}{}", report.place, report.place.empty() ? "" : ": ", report.what),
         report.hint});
  }
  return play;
}

SanitisedPlay play_sanitised(const TrustedCode& source, const WorldCompiler& compiler) {
  SanitisedPlay play;
  std::optional<OwnFile> program;
  try {
    program.emplace(
        OwnFile::open(compile_world_file(source, compiler, world_cache_folder()).library).value());
  } catch (const UsageError&) {  // it compiles without sanitizers
    WorldCompiler lenient = compiler;
    const auto strict = std::find(lenient.flags.begin(), lenient.flags.end(), kStrictBounds);
    if (strict != lenient.flags.end()) {  // only GCC has this flag
      lenient.flags.erase(strict);
      return play_sanitised(source, lenient);
    }
    play.skip_reason = fmt::format("{} has no sanitizers here", compiler.program);
    return play;
  }
  const ProgramResult result =
      run_program({program->path()},
                  {.settings = {"ASAN_OPTIONS=detect_leaks=0:handle_abort=1:abort_on_error=0",
                                "UBSAN_OPTIONS=print_stacktrace=1"},
                   .seconds = kPlaySeconds,
                   .only_errors = true});
  play = read_sanitizers(result.text, source.path(), compiler.headers);
  if (!play.failures.empty()) return play;
  if (result.timed_out) {
    play.skip_reason = fmt::format("it did not finish within {:g} s", kPlaySeconds);
  } else if (result.code != 0) {
    play.skip_reason = fmt::format("the sanitised program ended with exit code {}", result.code);
  }
  return play;
}

}  // namespace hotloop
