// Compiles a one-file environment into a plug-in, or explains briefly why it does not compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

// How a world is compiled. A member that was not found is empty; compiling then throws UsageError.
struct WorldCompiler {
  std::string program;                         // path of the compiler
  std::vector<std::string> flags;              // all arguments except the files
  std::string headers;                         // folder that holds hotloop/plugin.hpp
  std::string prelude = "hotloop/plugin.hpp";  // included before the source
  std::string extension = ".so";               // of the output file
  bool depends_on_path = false;  // the output contains line numbers, so it depends on the path
};

// The compiler that hotloop was built with if it exists, otherwise the first of c++, g++ and
// clang++ in `path`, a list of folders like $PATH.
WorldCompiler default_compiler();
std::string find_compiler(const std::string& preferred, const std::string& path);

// Without it, GCC does not check an array that is the last member, because it may be flexible.
inline constexpr std::string_view kStrictBounds = "-fsanitize=bounds-strict";

// For a program that plays the world and reports out-of-bounds accesses and the like.
WorldCompiler sanitising_compiler();

// A hash that changes whenever the same source might compile differently.
std::string compiler_identity(const WorldCompiler& compiler);

// Compiles a flat source to the file `output` and returns the compiler's warnings, which name the
// file `source`. The folder of `output` must be empty and this user's own: the compiler reads the
// text from there, and includes that are not in it can only be headers of the compiler and ours.
// Throws UsageError with the errors, starting with those in the author's own lines.
std::string compile_world(const WorldCompiler& compiler, const std::string& flat,
                          const std::string& source, const std::string& output);

// Rewrites the compiler's messages for the author: each error once, at a line of the file `source`;
// violations of the contract without the template context.
std::string readable_errors(std::string_view messages, const std::string& source);

}  // namespace hotloop
