// The style and the script of profile pages.
#pragma once

#include <string_view>

namespace hotloop {

extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace hotloop
