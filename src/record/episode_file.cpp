#include "record/episode_file.hpp"

#include <iterator>

#include "record/json_number.hpp"

namespace hotloop {

void EpisodeFile::write(const EnvSpec& env, std::span<const FinishedEpisode> episodes) {
  for (const FinishedEpisode& finished : episodes) {
    const Episode& episode = finished.episode;
    line_.clear();
    fmt::format_to(std::back_inserter(line_), "{{\"env_steps\":{},\"return\":", finished.env_steps);
    append_number(line_, episode.total_return);
    fmt::format_to(std::back_inserter(line_), ",\"length\":{}", episode.length);
    for (int i = 0; i < env.measure_count(); ++i) {
      fmt::format_to(std::back_inserter(line_), ",\"{}\":", env.measures[i]);
      append_number(line_, static_cast<double>(episode.measures[i]));
    }
    line_.push_back('}');
    lines_.append({line_.data(), line_.size()});
  }
}

}  // namespace hotloop
