// JSON as files and reports hold it.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace hotloop {

using Json = nlohmann::ordered_json;  // members keep the order in which they were added

// JSON has no infinities and no NaN: they are null.
inline Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace hotloop
