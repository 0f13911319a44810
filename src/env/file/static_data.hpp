// Static and global variables of a loaded library, watched for changes.
//
// A world's state must be in the struct. Static variables are shared by all copies and threads, and
// are neither saved nor reset. A table that is computed once is harmless, so a variable is reported
// only if it changes while worlds are played.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hotloop {

class StaticData {
 public:
  // Watches a library that is already loaded, by its path. Watches nothing if it has no symbols.
  explicit StaticData(const std::string& library);

  // From here on, changes of variables that are initialised on first use count too.
  void all_are_initialised();

  // The variables that changed, by their names in the source: "World::step::best".
  std::vector<std::string> changed() const;

 private:
  struct Variable {
    std::string name;
    const std::byte* address;
    bool is_initialised_late;
    std::vector<std::byte> before;
  };
  std::vector<Variable> variables_;
};

// The name of a symbol in the source; empty if it belongs to the compiler or to hotloop.
std::string variable_name(const std::string& symbol);

}  // namespace hotloop
