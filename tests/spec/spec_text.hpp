// Specs as text, for tests of the reader.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <hotloop/error.hpp>

#include "spec/spec.hpp"

namespace hotloop {

inline TrainSpec read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return load_spec_text(text, "dir/x.yaml", overrides);
}

// The reader's error message for a spec, without the name of the file.
inline std::string complaint(const std::string& text,
                             const std::vector<std::string>& overrides = {}) {
  try {
    read(text, overrides);
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 1) << message;
    return message.starts_with("dir/x.yaml:") ? message.substr(11) : message;
  }
  return "accepted";
}

// With the key of interest on line 2.
inline std::string second_line(const std::string& line) {
  return complaint("env: {name: cartpole}\n" + line + "\n");
}

}  // namespace hotloop
