// The network of SFC provisioning (its specification, section 11), for tests.
#pragma once

#include "net/structure.hpp"

namespace hotloop {

inline Structure sfc_network() {
  const NetOptions options{.branches = {{"h1", {"dc"}, {"dense 128", "dense 64"}},
                                        {"h2", {"dc_sfc"}, {"dense 64", "flatten", "dense 64"}},
                                        {"h3", {"global"}, {"dense 64", "flatten", "dense 64"}},
                                        {"context", {"h1", "h2", "h3"}, {"stack", "attention 128"}},
                                        {"all", {"h1", "h2", "h3", "context"}, {"concat"}}},
                           .hidden = {256, 128, 64},
                           .init = Initialiser::glorot};
  const std::vector<InputPart> parts = {{"dc", 1, 14}, {"dc_sfc", 6, 13}, {"global", 6, 10}};
  return make_mlp(152, 13, options, 1, {}, parts);
}

}  // namespace hotloop
