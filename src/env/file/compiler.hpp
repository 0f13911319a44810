// Compiles a one-file environment into a plug-in, or says in few lines why it does not compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

// How a world is compiled. An empty member was not found; compiling is then a UsageError.
struct WorldCompiler {
  std::string program;                          // path of the compiler
  std::vector<std::string> flags;               // all arguments except the files
  std::string headers;                          // folder that holds hotloop/plugin.hpp
  std::string in_front = "hotloop/plugin.hpp";  // included before the source
  std::string ending = ".so";                   // of the output file
  bool knows_source = false;  // the output contains line numbers, so it depends on the path
};

// The compiler that hotloop was built with, if it is here, else the first of c++, g++ and clang++ in
// `path`, a list of folders like $PATH.
WorldCompiler default_compiler();
std::string find_compiler(const std::string& preferred, const std::string& path);

// Without it, GCC does not check arrays that are last members: they could be flexible.
inline constexpr std::string_view kStrictBounds = "-fsanitize=bounds-strict";

// For a program that plays the world and reports accesses beyond arrays and the like.
WorldCompiler sanitising_compiler();

// A hash that changes whenever the same source might compile to something else.
std::string compiler_identity(const WorldCompiler& compiler);

// Compiles `source` to `library` and returns the compiler's warnings. Throws UsageError with the errors,
// those in the author's own lines first.
std::string compile_world(const WorldCompiler& compiler, const std::string& source,
                          const std::string& library);

// The compiler's messages for the author: each error once, at a line of the file `source`; sentences
// of the contract without the templates around them.
std::string readable_errors(std::string_view messages, const std::string& source);

}  // namespace hotloop
