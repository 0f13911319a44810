// The bytes are a file of transitions whose checksum is right. Those that are accepted go into a
// replay, and are drawn from it.
#include "memory/replay.hpp"
#include "record/safetensors.hpp"
#include "record/transitions/transition_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/record/forgery.hpp"

HOTLOOP_FUZZ_TARGET(transitions) {
  using namespace hotloop;
  const std::string text = sealed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const TransitionFile file = load_transitions(Safetensors(contents_of(text), "fuzz"), "fuzz");
  const Demonstrations& d = file.transitions;
  constexpr int kLanes = 3;
  const ReplayShape shape{.lanes = kLanes,
                          .obs = d.kind.obs,
                          .actions = d.kind.actions,
                          .action_size = d.kind.action_size,
                          .masks = d.kind.masks,
                          .demonstrations = true,
                          .capacity = kLanes * demonstration_steps(d.size(), kLanes),
                          .steps = 2};
  Replay replay(shape, 8);
  const std::vector<float> obs(static_cast<std::size_t>(kLanes) * d.kind.obs);
  const std::vector<std::uint8_t> mask(d.kind.masks ? kLanes * d.kind.actions : 0, 1);
  DemonstrationStreams streams(d, kLanes, false, obs, mask);
  replay.expect_demonstrations(streams.steps(), streams.truncation_gap());
  replay.begin(streams.first_obs(), streams.first_mask());
  while (!streams.done()) replay.push(streams.next());
  replay.sample(1, 8, 1, 0);
}
