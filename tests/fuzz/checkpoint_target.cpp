// The first byte chooses a small spec. The others change numbers, fields and bytes of a good
// checkpoint, which gets a correct checksum, is loaded and trained on.
#include <filesystem>
#include <map>

#include <unistd.h>

#include "record/checkpoint.hpp"
#include "spec/spec.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/record/forgery.hpp"

namespace hotloop {
namespace {

struct Base {
  TrainSpec spec;
  std::size_t best;  // floats
  std::string file;
};

constexpr int kRounds = 6;

const std::vector<std::string>& specs() {
  static const std::vector<std::string> all = {
      "{env: {name: cartpole, count: 2}, algo: {name: dqn, batch: 4, learning_starts: 8, "
      "train_every: 2, n_step: 3}, replay: {capacity: 64, prioritised: true}, net: {hidden: [3]}}",
      "{env: {name: sfc, count: 2, options: {mask: on, pending_cap: 20}}, algo: {name: dqn, batch: "
      "4, "
      "learning_starts: 4, train_every: 4, pipelined: true}, replay: {capacity: 16}, "
      "net: {hidden: [2]}}",
      "{env: {name: sfc, count: 2, options: {mask: on, pending_cap: 20}}, algo: {name: sarsa, "
      "batch: 4, n_steps: 4}, net: {hidden: [2]}}",
      "{env: {name: pendulum, count: 2}, algo: {name: ppo, batch: 4, n_steps: 4, "
      "normalise: {obs: true}}, net: {hidden: [3]}}",
      "{env: {name: snake, count: 2, options: {grid: 4}}, algo: {name: ppo, batch: 4, n_steps: 4}, "
      "net: {hidden: [3]}}",
      "{env: {name: mountaincar, count: 2}, algo: {name: pqn, batch: 4, n_steps: 4}, "
      "net: {hidden: [3]}}",
  };
  return all;
}

const std::vector<Base>& bases() {
  static const std::vector<Base> all = fuzz::prepared([] {
    namespace fs = std::filesystem;
    const fs::path folder =
        fs::temp_directory_path() / ("hotloop-fuzz-" + std::to_string(getpid()));
    fs::create_directories(folder / "checkpoints");
    std::vector<Base> made;
    for (const std::string& text : specs()) {
      Base base{load_spec_text(text, "fuzz.yaml"), 5, ""};
      Trainer trainer(base.spec);
      for (int i = 0; i < kRounds; ++i) trainer.round();
      const std::vector<float> best(base.best, 1.0f);
      base.file = read_file(save_checkpoint(folder.string(), trainer, {}, best)).text();
      made.push_back(std::move(base));
    }
    fs::remove_all(folder);
    return made;
  });
  return all;
}

// Any of these in the place of any field.
Json odd_value(fuzz::Input& input) {
  switch (input.next<std::uint8_t>() % 14) {
    case 0:
      return nullptr;
    case 1:
      return Json::array();
    case 2:
      return Json::object();
    case 3:
      return -1;
    case 4:
      return std::int64_t{1} << 50;
    case 5:
      return INT64_MAX;
    case 6:
      return UINT64_MAX;
    case 7:
      return 1e308;
    case 8:
      return 0.5;
    case 9:
      return "\x1b[31m";
    case 10:
      return true;
    case 11:
      return {1, 2, 3};
    case 12:
      return 0;
    default:
      return input.next<std::uint16_t>();
  }
}

void change_state(Forgery& forgery, fuzz::Input& input) {
  Json flat = forgery.state().flatten();
  auto field = flat.begin();
  std::advance(field, input.below(flat.size()));
  // The field itself, or the object around it.
  Json state = forgery.state();
  Json::json_pointer place(field.key());
  for (int up = input.next<std::uint8_t>() % 4; up > 2 && !place.empty(); --up) place.pop_back();
  if (!place.empty()) state[place] = odd_value(input);
  forgery.set_state(state);
}

void change_tensor(Forgery& forgery, fuzz::Input& input, std::size_t width) {
  auto tensor = forgery.header.begin();
  std::advance(tensor, 1 + input.below(forgery.header.size() - 1));
  const std::span<char> all = forgery.values<char>(tensor.key());
  if (all.size() < width) return;
  const std::size_t at = input.below(all.size() / width) * width;
  const auto value = input.next<std::uint64_t>();
  std::memcpy(all.data() + at, &value, width);
}

void change_header(Forgery& forgery, fuzz::Input& input) {
  auto tensor = forgery.header.begin();
  std::advance(tensor, 1 + input.below(forgery.header.size() - 1));
  const std::array<const char*, 3> kKeys = {"dtype", "shape", "data_offsets"};
  (*tensor)[kKeys[input.below(3)]] = odd_value(input);
}

}  // namespace
}  // namespace hotloop

HOTLOOP_FUZZ_TARGET(checkpoint) {
  using namespace hotloop;
  fuzz::Input input(bytes);
  const Base& base = bases()[input.next<std::uint8_t>() % bases().size()];
  Forgery forgery(base.file);
  for (int edit = 0; edit < 8 && !input.empty(); ++edit) {
    switch (input.next<std::uint8_t>() % 8) {
      case 0:
        change_tensor(forgery, input, 1);
        break;
      case 1:
      case 2:
        change_tensor(forgery, input, 4);
        break;
      case 3:
      case 4:
        change_tensor(forgery, input, 8);
        break;
      case 5:
      case 6:
        change_state(forgery, input);
        break;
      default:
        change_header(forgery, input);
        break;
    }
  }
  Trainer trainer(base.spec);
  RunRecord record;
  std::vector<float> best(base.best);
  load_checkpoint(Safetensors(contents_of(forgery.text()), "fuzz"), "fuzz", trainer, record, best);
  for (int i = 0; i < 3; ++i) trainer.round();
}
