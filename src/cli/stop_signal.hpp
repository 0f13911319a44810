// Ctrl-C and SIGTERM as a flag: the run saves a checkpoint and stops. A second signal ends the
// process at once, as it would without us.
#pragma once

#include <atomic>

namespace hotloop {

const std::atomic<bool>& stop_requested();  // installs the handlers on the first call

}  // namespace hotloop
