// The commands behind `hotloop`: each takes its parsed options and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotloop {

struct TrainArguments {
  std::string spec;                    // or a world
  std::string algorithm;               // for a world
  std::vector<std::string> overrides;  // --set key=value
  std::optional<std::uint64_t> seed;
  int seeds = 1;  // how many, counting up from the first
  int jobs = 1;   // of them at a time
  std::optional<std::int64_t> steps;
  std::string out = "runs";
  bool json = false;
  bool quiet = false;
};
int train_command(const TrainArguments& arguments);

struct ResumeArguments {
  std::string run;
  std::optional<std::string> checkpoint;
  std::optional<std::int64_t> steps;
  std::vector<std::string> overrides;
  bool json = false;
  bool quiet = false;
};
int resume_command(const ResumeArguments& arguments);

struct EvalArguments {
  std::string run;     // a run folder or a model file; with a policy also a spec
  std::string policy;  // without a network: "random" or a script of the environment
  std::string model = "best";
  std::vector<std::string> overrides;
  std::optional<int> episodes;
  std::optional<std::uint64_t> seed;
  bool sample = false;  // draw actions from the policy instead of taking the best
  bool json = false;
};
int eval_command(const EvalArguments& arguments);

struct CompareArguments {
  std::vector<std::string> runs;     // run folders or model files, or one spec
  std::vector<std::string> against;  // policies without a network
  std::string vary;                  // env.options.NAME=value,value,...
  std::vector<std::string> overrides;
  std::string model = "best";
  std::string measure;  // empty = all in the table, the score in the figure
  int episodes = 30;
  std::uint64_t seed =
      1'000;  // of the starts; not a run's own, on whose starts its best was chosen
  std::string csv, markdown, figure;  // files to write
  bool json = false;
};
int compare_command(const CompareArguments& arguments);

struct WatchArguments {
  std::string run;
  std::string policy;
  std::string model = "best";
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  int episodes = 1;
  int speed = 12;  // steps per second
  int scale = 8;   // pixels of a file per pixel of the picture
  std::string gif, png;
};
int watch_command(const WatchArguments& arguments);

struct PlotArguments {
  std::string run;                // a run folder
  std::string out;                // the .svg
  std::vector<std::string> show;  // columns and measures; empty = those that matter most
  bool episodes = false;          // from episodes.jsonl
};
int plot_command(const PlotArguments& arguments);

struct SuiteArguments {
  std::string suite;
  std::optional<int> seeds;
  int jobs = 1;
  std::string out = "runs";
  std::string csv, figure;  // files to write
  bool json = false;
  bool quiet = false;
};
int suite_command(const SuiteArguments& arguments);

int list_command(const std::string& what, bool json);

struct InspectArguments {
  std::string path;
  std::string activations;  // a file with an observation, for networks that are graphs
  std::string picture;      // a file to draw the graph into
  bool json = false;
};
int inspect_command(const InspectArguments& arguments);

struct ProfileArguments {
  std::string spec;
  std::string algorithm;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  double seconds = 5;
  std::string trace, html;  // files to write
  bool json = false;
  bool quiet = false;
};
int profile_command(const ProfileArguments& arguments);

int bench_command(const std::vector<std::string>& arguments);  // replaces this process

struct DoctorArguments {
  std::string spec;
  std::string algorithm;
  std::vector<std::string> overrides;
  std::optional<std::uint64_t> seed;
  double minutes = 3;
  std::string apply;  // a new .yaml for the spec with what is recommended
  bool json = false;
  bool quiet = false;
};
int doctor_command(const DoctorArguments& arguments);

struct CheckArguments {
  std::string world;  // a file or a registered name
  double timeout = 5;
  std::uint64_t seed = 1;
  int steps = 200;
  bool json = false;
};
int check_command(const CheckArguments& arguments);

int new_command(const std::string& what, const std::string& name);

}  // namespace hotloop
