#include "env/file/sanitised.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <hotloop/error.hpp>

#include "env/file/program.hpp"
#include "env/file/world_file.hpp"

namespace hotloop {
namespace {

namespace fs = std::filesystem;

constexpr double kPlaySeconds = 10;  // the program normally ends long before
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

// "/home/me/world.cpp:12:5" as the author names the file; empty if it is not the author's.
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

// "    #1 0x55 in World::step(int, hotloop::Rng&) /home/me/world.cpp:12" -> its place. A path may be
// relative, and hold blanks, as names of functions do: then it is known by the source's.
std::string place_of_frame(std::string_view line, const std::string& source) {
  const std::size_t in = line.find(" in ");
  if (!line.starts_with("    #") || in == std::string_view::npos) return "";
  std::size_t path = line.find(" " + source + ":", in);
  if (path == std::string_view::npos) path = line.find(" /", in);
  return path == std::string_view::npos ? "" : std::string(line.substr(path + 1));
}

// Of the sanitizer of undefined behaviour, "index 12 out of bounds for type 'int [12]'".
Report undefined_behaviour(const std::string& said) {
  Report report{.what = said, .hint = "", .place = "", .is_warning = false};
  if (said.starts_with("index ") && has(said, " out of bounds")) {
    const std::string index = said.substr(6, said.find(' ', 6) - 6);
    const std::size_t open = said.rfind('['), close = said.rfind(']');
    const std::string size =
        open < close && close != std::string::npos ? said.substr(open + 1, close - open - 1) : "";
    if (!size.empty()) {
      report.what = fmt::format("index {} of an array of {}: allowed are 0 to {}", index, size,
                                std::atol(size.c_str()) - 1);
    }
    report.hint =
        "what lies beside the array is read or overwritten; make the array larger, or keep "
        "the index within it. Is spec.actions larger than a table of actions?";
  } else if (has(said, "division by zero")) {
    report.what = "an integer divided by zero";
    report.hint = "look for / and % whose right side can be 0";
  } else if (has(said, "not a valid value for type")) {
    report.hint = "probably a member or variable without an initial value";
  } else {
    report.is_warning = true;
    report.hint =
        "C++ does not define the result, and compilers assume that it never happens; use "
        "unsigned or larger types, or check the value before";
  }
  return report;
}

// Of the sanitizer of addresses, by its kind, "heap-buffer-overflow".
Report wrong_address(std::string_view kind) {
  Report report{.what = "", .hint = "", .place = "", .is_warning = false};
  report.hint =
      "look for an index beyond the end of an array, or an action used as an index without "
      "regard to how many there are";
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
    report.hint = "a function calls itself without end, or a local array is very large";
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

// Of the standard library, "array:208: ... operator[](size_type) ...: Assertion '__n < this->size()'
// failed."
Report refused(const std::string& said) {
  Report report{.what = said, .hint = "", .place = "", .is_warning = false};
  for (const char* type : {"std::array", "std::span", "std::vector"}) {
    if (!has(said, type) || !has(said, "operator[]")) continue;
    report.what = fmt::format("an index beyond the end of a {}", type);
    report.hint =
        "make it larger, or keep the index within it. Is spec.obs or spec.actions another "
        "number than the code counts on?";
    break;
  }
  return report;
}

}  // namespace

SanitisedPlay read_sanitizers(std::string_view text, const std::string& source,
                              const std::string& headers) {
  std::vector<Report> reports;
  std::string assertion;  // of the standard library, which then aborts
  bool in_stack = false;  // the first one of the latest report
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
      if (kind == "ABRT") reports.back() = refused(assertion);
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
  std::vector<std::string> places;  // one mistake may cause several reports of its line
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

SanitisedPlay play_sanitised(const std::string& source, const WorldCompiler& compiler) {
  SanitisedPlay play;
  std::string program;
  try {
    program = compile_world_file(source, compiler, world_cache_folder()).library;
  } catch (const UsageError&) {  // it compiles without sanitizers
    WorldCompiler lenient = compiler;
    const auto strict = std::find(lenient.flags.begin(), lenient.flags.end(), kStrictBounds);
    if (strict != lenient.flags.end()) {  // only GCC has it
      lenient.flags.erase(strict);
      return play_sanitised(source, lenient);
    }
    play.why_not = fmt::format("{} has no sanitizers here", compiler.program);
    return play;
  }
  const ProgramResult result = run_program(
      {program}, {.settings = {"ASAN_OPTIONS=detect_leaks=0:handle_abort=1:abort_on_error=0",
                               "UBSAN_OPTIONS=print_stacktrace=1"},
                  .seconds = kPlaySeconds,
                  .only_errors = true});
  play = read_sanitizers(result.text, source, compiler.headers);
  if (!play.failures.empty()) return play;
  if (result.is_late) {
    play.why_not = fmt::format("no end within {:g} s", kPlaySeconds);
  } else if (result.code != 0) {
    play.why_not = fmt::format("the program that does it ended with exit code {}", result.code);
  }
  return play;
}

}  // namespace hotloop
