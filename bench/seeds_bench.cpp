// hotloop bench seeds: what the authors of the five systems claimed, and what is measured here, all
// interleaved in one run. A factor is about the engine only if the results are the same.
#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/claims.hpp"
#include "bench/measure.hpp"

namespace hotloop::bench {
namespace {

std::string tolerance_of(const Claim& claim) {
  if (claim.tolerance == 0) return "to the bit";
  return fmt::format("{:g}{}{}", claim.tolerance, claim.unit.empty() ? "" : " ", claim.unit);
}

}  // namespace

Json seeds_benchmark() {
  std::vector<Claim> claims;
  for (const auto& some :
       {snake_claims(), topology_claims(), durotaxis_claims(), slmlab_claims()}) {
    claims.insert(claims.end(), some.begin(), some.end());
  }
  Measurement measurement;
  for (const Claim& claim : claims) {
    measurement.add(claim.name + "/slow", claim.slow);
    measurement.add(claim.name + "/fast", claim.fast);
  }
  const auto times = measurement.run(31, 0.02);
  Json rows = Json::array();
  for (const Claim& claim : claims) {
    const Timing slow = times.at(claim.name + "/slow");
    const Timing fast = times.at(claim.name + "/fast");
    const double difference = claim.difference();
    rows.push_back({{"name", claim.name},
                    {"system", claim.system},
                    {"claimed", claim.claimed},
                    {"slow_us", slow.median_us},
                    {"fast_us", fast.median_us},
                    {"factor", slow.median_us / fast.median_us},
                    {"spread", std::max(slow.spread, fast.spread)},
                    {"same_result", difference <= claim.tolerance ? "yes" : "no"},
                    {"difference", difference},
                    {"tolerance", tolerance_of(claim)},
                    {"conditions", claim.conditions}});
  }
  return rows;
}

}  // namespace hotloop::bench
