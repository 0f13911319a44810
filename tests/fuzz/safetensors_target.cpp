// The bytes are a file whose checksum is right.
#include "record/safetensors.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/record/forgery.hpp"

HOTLOOP_FUZZ_TARGET(safetensors) {
  using namespace hotloop;
  const std::string text = sealed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const Safetensors file(contents_of(text), "fuzz");
  for (const std::string& name : file.names()) {
    std::vector<float> values(file.bytes(name).size() / sizeof(float));
    if (file.dtype(name) != Dtype::f32) continue;
    file.copy(name, std::span(values), file.shape(name), Limits::finite());
  }
}
