// What is said, and with which exit code, when an environment ends the process in the middle of a run: by
// a crash, or by a call of exit, which would otherwise look like success.
#pragma once

#include <string>

namespace hotloop {

class LastWords {
 public:
  explicit LastWords(const std::string& env);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;
};

}  // namespace hotloop
