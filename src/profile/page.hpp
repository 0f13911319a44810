// What every page of a profile has in common: its style and its script.
#pragma once

#include <string_view>

namespace hotloop {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace hotloop
