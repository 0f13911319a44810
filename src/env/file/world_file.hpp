// One-file environments: from `corridor.cpp` to an entry in the registry.
//
// A source that may run (trust.hpp) is compiled into a plug-in once; the plug-in is cached under a
// hash of everything that determines it: the source with the files it includes, the compiler, its
// flags, the engine's headers. It is first tried in a separate process, so that a crash or a hang
// becomes an error message. Plug-ins (.so) are not compiled.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <string_view>

#include "env/file/compiler.hpp"
#include "env/file/flat_source.hpp"
#include "env/file/trust.hpp"
#include "env/options.hpp"

namespace hotloop {

bool is_world_file(std::string_view name);  // ends in .cpp or .so

// `folder`/`name` if that file exists, else `name`.
std::string find_world_file(const std::string& name, const std::string& folder);

struct CompiledWorld {
  std::string library;   // path in the cache, of a plug-in or other compiler output
  std::string warnings;  // of the compiler
  bool is_tried = false;
};

// From the cache if possible; a plug-in is only copied there. Throws UsageError: no compiler, errors
// in the source.
CompiledWorld compile_world_file(const TrustedCode& code, const WorldCompiler& compiler,
                                 const std::string& cache);

// Compiles, tries and loads, if the code may run. Throws UsageError with what is wrong.
EnvEntry load_world_file(const std::string& path);
// The same, but loads it into another process.
EnvEntry isolate_world_file(const std::string& path, const Isolation& isolation);

// The one environment of a library in the cache, without a trial run.
EnvEntry only_world(const std::string& library, const std::string& shown);

// Tries the library in another process: loads it, makes worlds, plays a few random steps. Returns
// an error message, or "".
std::string try_library(const std::string& library, const std::string& shown, double seconds);

// Writes the environment's file to a run folder, as it was when it was loaded. A folder with code
// in it is made the user's own, mode 0700.
void keep_world_file(const std::string& path, const std::string& folder);

}  // namespace hotloop
