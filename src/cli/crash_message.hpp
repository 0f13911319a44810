// What is said when the code of an environment ends the process or does not return.
//
// A crash, a call to exit(), quick_exit() or _exit() in an environment gives a message that names
// the function, the rows and the step, and a failure as the exit code, in every command. Only the
// bare system call can still look like success (--isolate catches that too). While a run is in
// progress, a call that takes too long gives a message as well.
#pragma once

#include <string>
#include <thread>

#include "spec/spec.hpp"

namespace hotloop {

// While it exists, a run is in progress.
class CrashMessage {
 public:
  explicit CrashMessage(const TrainSpec& spec);
  ~CrashMessage();
  CrashMessage(const CrashMessage&) = delete;
  CrashMessage& operator=(const CrashMessage&) = delete;

  static void set_run(const std::string& folder);  // known a little later

 private:
  std::jthread watchdog_;  // for environments from files
};

}  // namespace hotloop
