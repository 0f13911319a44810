// A card game: a hand of five cards, five tricks. The dealer leads a card, and the higher card
// takes the trick. Each card can be played once; the mask says which are left.
//   hotloop train five_tricks.cpp
#include <hotloop/env.hpp>

struct FiveTricks {
  static constexpr int kHand = 5, kHighest = 12;
  static constexpr auto spec = hotloop::EnvSpec{
      .name = "five_tricks", .obs = kHand + 2, .actions = kHand, .measures = {"score"}};
  int hand[kHand] = {};  // 1 to 12; 0 = played
  int lead = 1;          // the dealer's card
  int tricks = 0, won = 0;

  static int draw(hotloop::Rng& rng) { return 1 + static_cast<int>(rng.below(kHighest)); }

  void reset(hotloop::Rng& rng) {
    for (int& card : hand) card = draw(rng);
    lead = draw(rng);
    tricks = won = 0;
  }

  void observe(std::span<float> obs) const {
    for (int i = 0; i < kHand; ++i) obs[i] = static_cast<float>(hand[i]) / kHighest;
    obs[kHand] = static_cast<float>(lead) / kHighest;
    obs[kHand + 1] = static_cast<float>(tricks) / kHand;
  }

  void mask(std::span<std::uint8_t> allowed) const {
    // After the last trick no card is left, but then the episode is over.
    for (int i = 0; i < kHand; ++i) allowed[i] = hand[i] > 0 || tricks == kHand;
  }

  hotloop::Step step(int action, hotloop::Rng& rng) {
    const bool takes = hand[action] > lead;
    hand[action] = 0;
    won += takes;
    lead = draw(rng);
    return {takes ? 1.f : 0.f, ++tricks == kHand};
  }

  void measure(std::span<float> values) const { values[0] = static_cast<float>(won); }
};
HOTLOOP_ENV(FiveTricks)
