// A source and the files that it includes, as one text: what is hashed, compiled and kept in run
// folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotloop {

// The text of a source, with files that it includes by "..." inserted. An include that names no
// file beside the source stays as it is: it is one of the compiler's. `included` gets the names of
// the inserted files, as the source spells them. Throws UsageError: no such file, a cycle, or more
// than 16 MB.
std::string flat_source(const std::string& path, std::vector<std::string>* included = nullptr);

// The same text for the compiler, whose messages then name `path`, and the included files relative
// to the folder of `path`.
std::string with_places(std::string_view flat, const std::string& path);

}  // namespace hotloop
