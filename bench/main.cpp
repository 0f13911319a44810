// hotloop bench [update|qloss|dag|ppo|sac|durotaxis|env|snake|seeds|kernels|products|threads|clock]... [--json]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/measure.hpp"
#include "core/system.hpp"
#include "core/text.hpp"

extern "C" void omp_set_num_threads(int threads);  // from the OpenMP runtime of oneDNN

namespace {

using hotloop::Json;

constexpr std::array<std::string_view, 13> kNames = {
    "update", "qloss", "dag",     "ppo",      "sac",     "durotaxis", "env",
    "snake",  "seeds", "kernels", "products", "threads", "clock"};

std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_table(const Json& rows) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : rows.at(0).items()) keys.push_back(key);
  std::vector<std::size_t> widths;
  for (const std::string& key : keys) {
    std::size_t width = key.size();
    for (const Json& row : rows) width = std::max(width, cell(row.at(key)).size());
    widths.push_back(width);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) fmt::print("{:>{}}  ", keys[i], widths[i]);
  fmt::print("\n");
  for (const Json& row : rows) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      fmt::print("{:>{}}  ", cell(row.at(keys[i])), widths[i]);
    fmt::print("\n");
  }
}

Json run(std::string_view name) {
  if (name == "update") return hotloop::bench::update_benchmark();
  if (name == "qloss") return hotloop::bench::qloss_benchmark();
  if (name == "dag") return hotloop::bench::dag_benchmark();
  if (name == "ppo") return hotloop::bench::ppo_benchmark();
  if (name == "sac") return hotloop::bench::sac_benchmark();
  if (name == "durotaxis") return hotloop::bench::durotaxis_benchmark();
  if (name == "env") return hotloop::bench::env_benchmark();
  if (name == "snake") return hotloop::bench::snake_benchmark();
  if (name == "seeds") return hotloop::bench::seeds_benchmark();
  if (name == "kernels") return hotloop::bench::kernels_benchmark();
  if (name == "products") return hotloop::bench::products_benchmark();
  if (name == "threads") return hotloop::bench::threads_benchmark();
  return hotloop::bench::clock_benchmark();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> names;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (std::find(kNames.begin(), kNames.end(), argument) != kNames.end()) {
      names.push_back(argument);
    } else {
      fmt::print(stderr, "hotloop: bench {}: unknown benchmark; {}\n", argument,
                 hotloop::suggestion(argument, kNames));
      return 2;
    }
  }
  omp_set_num_threads(1);  // oneDNN's threads
  if (names.empty()) names.assign(kNames.begin(), kNames.end());
  fmt::print(stderr, "{}, medians of interleaved repetitions, one thread unless named\n",
             hotloop::cpu_name());
  for (std::string_view name : names) {
    const Json rows = run(name);
    if (json)
      fmt::print("{}\n", rows.dump());
    else
      print_table(rows);
  }
  return 0;
}
