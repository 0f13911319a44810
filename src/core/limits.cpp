#include "core/limits.hpp"

#include <fmt/format.h>

namespace hotloop {

std::string Limits::text() const {
  if (allows_nan_) return "any number";
  const char* kind = is_integer_ ? "integers" : "numbers";
  if (low_ == -kLargest && high_ == kLargest) return "finite numbers";
  if (high_ == kLargest) return fmt::format("finite {} of at least {:.17g}", kind, low_);
  return fmt::format("{} from {:.17g} to {:.17g}", kind, low_, high_);
}

}  // namespace hotloop
