// Compiles a one-file world into a plug-in, and says in few lines why it did not compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

// How a world is compiled. What is empty cannot be found, and compiling is then a UsageError.
struct WorldCompiler {
  std::string program;                          // path of the compiler
  std::vector<std::string> flags;               // all but the files
  std::string headers;                          // folder that holds hotloop/plugin.hpp
  std::string in_front = "hotloop/plugin.hpp";  // the header that makes something of the world
  std::string ending = ".so";                   // of what comes out
  bool knows_source = false;  // what comes out tells of lines: it is another for another path
};

// The compiler that hotloop was built with, if it is here, else the first of c++, g++ and clang++ in
// `path`, a list of folders like $PATH.
WorldCompiler default_compiler();
std::string find_compiler(const std::string& preferred, const std::string& path);

// Last members count as arrays too: without it, GCC takes them for the beginning of something larger.
inline constexpr std::string_view kStrictBounds = "-fsanitize=bounds-strict";

// The same, for a program that plays the world and reports accesses beyond arrays and the like.
WorldCompiler sanitising_compiler();

// A number that changes whenever the same source might compile to something else.
std::string compiler_identity(const WorldCompiler& compiler);

// Compiles `source` to `library` and returns the compiler's warnings. Throws UsageError with the errors,
// those in the author's own lines first.
std::string compile_world(const WorldCompiler& compiler, const std::string& source,
                          const std::string& library);

// What an author needs of a compiler's messages: each error once, at a line of the file `source`, the
// sentences of the contract without the templates around them.
std::string readable_errors(std::string_view messages, const std::string& source);

}  // namespace hotloop
