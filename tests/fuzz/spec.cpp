// Specs: any text, and any overrides. A mistake is a UsageError, nothing else.
//
// The first line of the input holds the overrides, separated by tabs; the rest is the spec. Files
// that a spec names (environments, graphs) are not opened: such inputs are skipped.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <hotloop/error.hpp>

#include "spec/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const std::string_view path : {"file", ".cpp", ".so", "/"}) {
    if (input.find(path) != input.npos) return 0;
  }
  const std::size_t end = std::min(input.find('\n'), input.size());
  std::vector<std::string> overrides;
  for (std::string_view line = input.substr(0, end); !line.empty();) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    overrides.emplace_back(line.substr(0, tab));
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  try {
    const std::string_view text = input.substr(std::min(end + 1, input.size()));
    const hotloop::TrainSpec spec = hotloop::load_spec_text(text, "fuzz.yaml", overrides);
    // A resolved spec is read back as itself.
    const std::string resolved = hotloop::to_yaml(spec);
    if (hotloop::to_yaml(hotloop::load_spec_text(resolved, "fuzz.yaml", {})) != resolved) {
      std::terminate();
    }
  } catch (const hotloop::UsageError&) {
  }
  return 0;
}
