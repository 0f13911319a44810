#include "profile/profile.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include <hotloop/error.hpp>

#include "core/scratch_folder.hpp"
#include "core/stopwatch.hpp"
#include "core/system.hpp"
#include "profile/peak.hpp"
#include "profile/phase_work.hpp"
#include "session/session.hpp"

namespace hotloop {
namespace {

// What the system reports about the calling thread.
struct ThreadTimes {
  double cpu_seconds = 0;
  double queue_seconds = 0;  // ready to run, but without a CPU
  std::int64_t sleeps = 0;   // voluntary context switches

  static ThreadTimes now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec), queued(),
            usage.ru_nvcsw};
  }

  static double queued() {
    // Nanoseconds on a CPU, nanoseconds waiting for one, number of time slices.
    std::ifstream file("/proc/thread-self/schedstat");
    double running = 0, waiting = 0;
    return file >> running >> waiting ? 1e-9 * waiting : 0;
  }
};

// Pipelined rounds overlap on two cores, which one clock cannot separate. On one thread they do the
// same work sequentially.
TrainSpec unpipelined(TrainSpec spec) {
  spec.threads = spec.learn.pipelined ? 1 : spec.max_threads();
  return spec;
}

// Drives a session and records measurements.
class Profiler {
 public:
  Profiler(const TrainSpec& spec, const ProfileOptions& options)
      : options_(options), session_(unpipelined(without_end(spec)), folder_.path(), hooks()) {
    profile_.spec = spec;
    profile_.spec.threads = spec.max_threads();  // for `auto`, too
    profile_.network = session_.trainer().network().structure().describe();
    profile_.cpu = cpu_name();
    profile_.peak_gflops = measure_peak_gflops();
    profile_.visits.resize(options.trace);
  }

  Profile run() {
    session_.start();
    begin();  // called again after the warm-up, but training may fail before that
    try {
      warm_up();
      begin();
      const double every = std::clamp(options_.seconds / 64, 0.005, 1.0);
      double next = every;
      double now = 0;
      while (now < options_.seconds && !stopped()) {
        session_.advance();
        now = clock_.seconds();
        if (now < next) continue;
        next = now + every;
        take_sample(now);
        if (options_.progress) options_.progress(now / options_.seconds);
      }
    } catch (const RunError& error) {
      profile_.failure = error.what();
    }
    end();
    return std::move(profile_);
  }

 private:
  SessionHooks hooks() {
    return {.progress = {},
            .warning = [this](const std::string& text) { profile_.warnings.push_back(text); },
            .stop = nullptr};
  }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  Trainer& trainer() { return session_.trainer(); }

  // Collecting without learning says nothing about training, so it is not measured. It may take up
  // to half of the time.
  void warm_up() {
    const Stopwatch watch;
    while (trainer().counters().updates == 0 && watch.seconds() < options_.seconds / 2 &&
           !stopped()) {
      session_.advance();
    }
    profile_.learnt = trainer().counters().updates > 0;
    if (!profile_.learnt || trainer().spec().learn.learning_starts == 0) return;
    profile_.warm_up_seconds = watch.seconds();
  }

  void begin() {
    trainer().clock() = PhaseClock(Phase::other);
    trainer().clock().trace(profile_.visits);
    clock_ = Stopwatch();
    before_ = trainer().counters();
    profile_.warm_up = before_.progress();
    use_before_ = trainer().team().use();
    thread_before_ = ThreadTimes::now();
    profile_.resident_begin = resident_bytes();
    profile_.samples.clear();
    take_sample(0);
  }

  void take_sample(double now) {
    const Counters& c = trainer().counters();
    const PhaseClock& clock = trainer().clock();
    const double scale = clock.estimate_seconds(1), per_tick = clock.seconds_per_tick();
    Sample sample{.seconds = now,
                  .env_steps = c.env_steps - before_.env_steps,
                  .updates = c.updates - before_.updates,
                  .episodes = c.episodes - before_.episodes,
                  .resident_bytes = resident_bytes(),
                  .allocations = Allocations::now(),
                  .phases = clock.seconds(),
                  .split_scale = scale > 0 ? per_tick / scale : 1,
                  .queue_seconds = ThreadTimes::queued() - thread_before_.queue_seconds};
    if (trainer().team().size() > 1) {
      const ThreadTeam::Use use = trainer().team().use();
      sample.team_span = static_cast<double>(use.span - use_before_.span) * per_tick;
      for (std::size_t i = 0; i < use.busy.size(); ++i)
        sample.team_work += static_cast<double>(use.busy[i] - use_before_.busy[i]) * per_tick;
    }
    profile_.samples.push_back(sample);
  }

  void end() {
    PhaseClock& clock = trainer().clock();
    profile_.wall_seconds = clock_.seconds();
    const ThreadTimes thread = ThreadTimes::now();
    const Counters& c = trainer().counters();
    profile_.env_steps = c.env_steps - before_.env_steps;
    profile_.updates = c.updates - before_.updates;
    profile_.episodes = c.episodes - before_.episodes;
    profile_.learnt |= profile_.updates > 0;
    profile_.resident_end = resident_bytes();
    work_ = trainer().spec().algorithm->work(trainer().spec(), trainer().world());
    profile_.bytes_per_transition = work_.bytes_per_transition;
    const double vector_steps = std::max(
        1.0, static_cast<double>(profile_.env_steps) / static_cast<double>(profile_.spec.envs));
    profile_.cpu_share = (thread.cpu_seconds - thread_before_.cpu_seconds) / profile_.wall_seconds;
    profile_.queue_share =
        (thread.queue_seconds - thread_before_.queue_seconds) / profile_.wall_seconds;
    profile_.sleeps_per_step =
        static_cast<double>(thread.sleeps - thread_before_.sleeps) / vector_steps;
    profile_.visits.resize(clock.traced());
    profile_.seconds_per_tick = clock.seconds_per_tick();
    clock.trace({});
    fill_phases(clock, c.target_updates - before_.target_updates);
    fill_threads(clock);
    profile_.trend = find_trend(profile_.samples);
    if (profile_.learnt && profile_.failure.empty()) profile_.health = examine(trainer());
  }

  void fill_phases(const PhaseClock& clock, std::int64_t target_updates) {
    const auto statistics = clock.statistics();
    const Structure& network = trainer().network().structure();
    const double steps = std::max<double>(1, static_cast<double>(profile_.env_steps));
    const double updates = profile_.updates > 0 ? static_cast<double>(profile_.updates) : kNone;
    const auto add_times = [&](PhaseRow& row) {
      row.share = row.seconds / profile_.wall_seconds;
      row.us_per_step = 1e6 * row.seconds / steps;
      row.us_per_update = 1e6 * row.seconds / updates;
    };
    double allocations = 0;
    for (std::size_t first = 0, next; first < kPhaseCount; first = next) {
      next = first;
      PhaseRow group{.group = std::string(kPhases[first].group), .part = ""};
      group.p50_us = group.p99_us = group.gflops = group.peak_share = kNone;
      group.gigabytes_per_second = kNone;
      std::vector<PhaseRow> parts;
      for (; next < kPhaseCount && kPhases[next].group == group.group; ++next) {
        const PhaseStatistics& s = statistics[next];
        if (next < static_cast<std::size_t>(Phase::evaluate)) allocations += s.allocations;
        if (s.seconds <= 0) continue;
        const PhaseWork work =
            work_in_phase(static_cast<Phase>(next), trainer().spec(), work_, network,
                          {.calls = s.calls,
                           .env_steps = static_cast<double>(profile_.env_steps),
                           .updates = static_cast<double>(profile_.updates),
                           .target_updates = static_cast<double>(target_updates)});
        PhaseRow row{.group = group.group,
                     .part = std::string(kPhases[next].part),
                     .seconds = s.seconds,
                     .calls = s.calls,
                     .p50_us = s.p50_us,
                     .p99_us = s.p99_us,
                     .gflops = work.flop / s.seconds / 1e9,
                     .gigabytes_per_second = work.bytes / s.seconds / 1e9,
                     .allocations_per_step = s.allocations / steps};
        row.peak_share = row.gflops / profile_.peak_gflops;
        add_times(row);
        group.seconds += row.seconds;
        group.calls += row.calls;
        group.allocations_per_step += row.allocations_per_step;
        parts.push_back(row);
      }
      if (parts.empty()) continue;
      if (parts.size() == 1 && parts[0].part.empty()) {
        group = parts[0];
        parts.clear();
      }
      add_times(group);
      profile_.phases.push_back(group);
      profile_.phases.insert(profile_.phases.end(), parts.begin(), parts.end());
    }
    profile_.unaccounted_share = profile_.share("unaccounted");
    profile_.allocations_per_step = Allocations::counted ? allocations / steps : kNone;
  }

  void fill_threads(const PhaseClock& clock) {
    const ThreadTeam::Use use = trainer().team().use();
    ThreadUse& threads = profile_.threads;
    threads.threads = trainer().spec().threads;
    threads.wait_share = profile_.share("wait");
    const auto span = static_cast<double>(use.span - use_before_.span);
    threads.span_seconds = clock.estimate_seconds(span);
    threads.runs = static_cast<double>(use.runs - use_before_.runs);
    if (span <= 0) return;
    for (std::size_t i = 0; i < use.busy.size(); ++i) {
      threads.busy.push_back(static_cast<double>(use.busy[i] - use_before_.busy[i]) / span);
    }
    const double total = std::accumulate(threads.busy.begin(), threads.busy.end(), 0.0);
    const double longest = *std::max_element(threads.busy.begin(), threads.busy.end());
    threads.imbalance = longest * static_cast<double>(threads.busy.size()) / total - 1;
  }

  ProfileOptions options_;
  ScratchFolder folder_;
  Profile profile_;
  Session session_;
  Stopwatch clock_;
  Counters before_;
  ThreadTeam::Use use_before_;
  ThreadTimes thread_before_;
  LearningWork work_;
};

}  // namespace

double Profile::share(std::string_view group, std::string_view part) const {
  for (const PhaseRow& row : phases) {
    if (row.group == group && row.part == part) return row.share;
  }
  return 0;
}

TrainSpec without_end(TrainSpec spec) {
  spec.run.steps = kNoLimit;
  spec.run.episodes = 0;
  spec.evaluation.stop_when_solved = false;
  return spec;
}

Profile take_profile(const TrainSpec& spec, const ProfileOptions& options) {
  return Profiler(spec, options).run();
}

}  // namespace hotloop
