// How evenly each policy divides the parameters of well-known models: the bytes of the fullest ps
// over the mean of all, which is how many times longer a step's traffic takes than it must.
#include "runtime/core/partition.h"
#include "schemas/wire/spec_names.h"
#include "tests/bench/bench.h"
#include "tests/runtime/core/known_models.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr double kBalanceWanted = 1.02;

BenchResult balance(const test::KnownModel& model, std::int64_t ps, Partitioning policy) {
  const auto shares = partition_arena(policy, model.variables(), model.arena_elements(), ps);
  BenchResult result;
  result.bench = "placement";
  result.case_name = model.name() + ", " + std::to_string(ps) + " ps, " +
                     std::string(find_name(partitioning_names, policy));
  result.value = balance_of(describe_partition(policy, model.variables(), shares));
  result.min = result.max = result.value;
  result.n = 1;  // a pure function
  result.unit = "max/mean";
  result.limit = kBalanceWanted;
  result.limit_of = "the balance wanted";
  return result;
}

}  // namespace

std::vector<BenchResult> bench_placement() {
  std::vector<BenchResult> results;
  for (const test::KnownModel& model : test::large_models()) {
    for (const std::int64_t ps : {2, 4, 8}) {
      for (const auto& [policy, name] : partitioning_names) {
        results.push_back(balance(model, ps, policy));
      }
    }
  }
  return results;
}

}  // namespace trainyard::bench
