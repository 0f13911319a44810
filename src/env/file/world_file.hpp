// One-file worlds: from `corridor.cpp` to an entry of the registry.
//
// A source is compiled into a plug-in once; the plug-in lies in a cache under a name made of everything
// that decides what it does: the source with the files it includes, the compiler, its flags, the engine's
// headers. It is first tried in a process of its own, so that a world that crashes or hangs is an error
// message. Plug-ins (.so) are loaded as they are.
#pragma once

#include <hotloop/env.hpp>

#include <string>
#include <string_view>

#include "env/file/compiler.hpp"

namespace hotloop {

bool is_world_file(std::string_view name);  // ends in .cpp or .so

// `name` beside `folder`/ if it is there, else as it is.
std::string find_world_file(const std::string& name, const std::string& folder);

// $XDG_CACHE_HOME/hotloop/worlds, ~/.cache/hotloop/worlds, or a folder of this user's in the temporary
// one; created if need be.
std::string world_cache_folder();

// The text of a source with the files it includes by "..." in their places.
std::string flat_source(const std::string& path);

struct CompiledWorld {
  std::string source;    // with what it includes
  std::string library;   // path in the cache, of a plug-in or what else the compiler makes
  std::string warnings;  // of the compiler
  bool is_tried = false;
};

// From the cache if it is there. Throws UsageError: no such file, no compiler, errors in the source.
CompiledWorld compile_world_file(const std::string& path, const WorldCompiler& compiler,
                                 const std::string& cache);

// Compiles, tries and loads. Throws UsageError saying what is wrong with it.
EnvEntry load_world_file(const std::string& path);

// The only world of a library, without trying it first.
EnvEntry only_world(const std::string& library, const std::string& shown);

// Tries the library in another process: loads it, makes worlds, plays a few random steps. What went
// wrong, or nothing.
std::string try_library(const std::string& library, const std::string& shown, double seconds);

// What a run folder needs to have: puts the world's file there, as it was when it was loaded.
void keep_world_file(const std::string& path, const std::string& folder);

}  // namespace hotloop
