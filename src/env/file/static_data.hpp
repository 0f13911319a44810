// Static and global variables of a loaded library, watched for changes.
//
// A world's state must lie in the world. What lies beside it is shared by all copies and threads, and
// is neither saved nor repeated. A table that is computed once is no such state, so what counts is that
// a variable changes while worlds are played, not that it could.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hotloop {

class StaticData {
 public:
  // Of a library that is loaded already, by its path. Nothing is watched if it has no names.
  explicit StaticData(const std::string& library);

  // From here on, variables that are initialised when they are first met count too.
  void all_have_been_met();

  // Those that are not as they were, as their author knows them: "World::step::best".
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

// A symbol in an author's words; empty if it is the compiler's or hotloop's and no concern of theirs.
std::string variable_name(const std::string& symbol);

}  // namespace hotloop
