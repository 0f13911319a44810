// The first line of the bytes holds overrides, separated by tabs; the rest is a spec. Files that a
// spec names (environments, graphs) are not opened: such inputs are skipped.
#include <string>
#include <string_view>
#include <vector>

#include "spec/spec.hpp"
#include "tests/fuzz/target.hpp"

HOTLOOP_FUZZ_TARGET(spec) {
  using namespace hotloop;
  const std::string_view input(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const std::string_view path : {"file", ".cpp", ".so", "/"}) {
    if (input.find(path) != input.npos) return;
  }
  const std::size_t end = std::min(input.find('\n'), input.size());
  std::vector<std::string> overrides;
  for (std::string_view line = input.substr(0, end); !line.empty();) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    overrides.emplace_back(line.substr(0, tab));
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  const std::string_view text = input.substr(std::min(end + 1, input.size()));
  const std::string resolved = to_yaml(load_spec_text(text, "fuzz.yaml", overrides));
  const std::string again =
      fuzz::prepared([&] { return to_yaml(load_spec_text(resolved, "fuzz.yaml", {})); });
  if (again != resolved) throw std::logic_error("a resolved spec is not read back as itself");
}
