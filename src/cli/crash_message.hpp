// The message and exit code when an environment ends the process in the middle of a run, by a crash
// or by calling exit(), which would otherwise look like success.
#pragma once

#include <string>

namespace hotloop {

class CrashMessage {
 public:
  explicit CrashMessage(const std::string& env);
  ~CrashMessage();
  CrashMessage(const CrashMessage&) = delete;
  CrashMessage& operator=(const CrashMessage&) = delete;
};

}  // namespace hotloop
