// episodes.jsonl: one JSON object per finished episode, append-only, in the order they ended.
//
//   env_steps   of the run when the episode ended, summed over all environments
//   return      of the episode
//   length      in steps
//   NAME        every measure of the environment; null where it is undefined
//
// Nothing in it depends on the clock: a run that was stopped and resumed writes the same bytes as
// an uninterrupted one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/file.hpp"
#include "train/trainer.hpp"

namespace hotloop {

class EpisodeFile {
 public:
  // Continues at byte `offset`: the rest of the file is cut off and will be written again.
  EpisodeFile(const std::string& path, std::uint64_t offset) : lines_(path, offset) {}

  void write(const EnvSpec& env, std::span<const FinishedEpisode> episodes);
  std::uint64_t bytes() const { return lines_.offset(); }
  void flush() { lines_.flush(); }
  void sync() { lines_.sync(); }

 private:
  LineWriter lines_;
  fmt::memory_buffer line_;
};

}  // namespace hotloop
