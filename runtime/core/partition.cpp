// TensorFlow's strategies: tensorflow/python/training/device_setter.py (_RoundRobinStrategy) and
// tensorflow/contrib/training/python/training/device_setter.py (GreedyLoadBalancingStrategy).
#include "runtime/core/partition.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "runtime/core/arena_layout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Of a description: it is a line of a task's events and a part of an answer of REST.
constexpr std::size_t all_named_max = 256;
constexpr std::size_t named_max_of_share = 16;

// Which holder each variable goes to, in their order.
std::vector<std::size_t> holders_of(Partitioning policy, std::span<const Variable> variables,
                                    std::size_t holders) {
  std::vector<std::size_t> chosen;
  std::vector<std::int64_t> load(holders, 0);
  for (const Variable& variable : variables) {
    const auto lightest = std::ranges::min_element(load);
    const bool by_turns = policy == Partitioning::round_robin;
    chosen.push_back(by_turns ? chosen.size() % holders
                              : static_cast<std::size_t>(lightest - load.begin()));
    load[chosen.back()] += variable.elements;
  }
  return chosen;
}

// A variable goes with the padding behind it.
std::vector<Share> whole_variables(Partitioning policy, std::span<const Variable> variables,
                                   std::int64_t arena_elements, std::size_t holders) {
  std::vector<Share> shares(holders);
  const std::vector<std::size_t> chosen = holders_of(policy, variables, holders);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const bool last = i + 1 == variables.size();
    const std::int64_t end = last ? arena_elements : variables[i + 1].offset;
    append_range(shares[chosen[i]], {begin, end});
    begin = end;
  }
  return shares;
}

HeldShare describe(std::span<const Variable> variables, const Share& share, std::size_t named_max) {
  std::map<std::size_t, HeldVariable> held;  // by position of the variable
  HeldShare described;
  for (const VariablePart& part : parts_of(variables, share)) {
    const std::int64_t bytes = (part.end - part.begin) * float_bytes;
    const auto [found, is_new] = held.try_emplace(
        part.variable, HeldVariable{.name = variables[part.variable].name, .bytes = 0});
    found->second.bytes += bytes;
    found->second.pieces += is_new ? 0 : 1;
    described.bytes += bytes;
  }
  for (auto& [position, variable] : held) described.variables.push_back(std::move(variable));
  std::ranges::stable_sort(described.variables, std::ranges::greater{}, &HeldVariable::bytes);
  const std::size_t named = std::min(named_max, described.variables.size());
  described.variables_left_out = std::ssize(described.variables) - static_cast<std::int64_t>(named);
  described.variables.resize(named);
  return described;
}

}  // namespace

std::vector<Share> partition_arena(Partitioning policy, std::span<const Variable> variables,
                                   std::int64_t arena_elements, std::int64_t holders) {
  ENSURE(holders >= 1);
  if (policy == Partitioning::chunks || variables.empty()) {
    return plan_shares(arena_elements, holders);
  }
  return whole_variables(policy, variables, arena_elements, static_cast<std::size_t>(holders));
}

Partition describe_partition(Partitioning policy, std::span<const Variable> variables,
                             std::span<const Share> shares) {
  const std::size_t each = all_named_max / std::max<std::size_t>(1, shares.size());
  Partition partition{.policy = policy, .shares = {}, .tables = {}};
  for (const Share& share : shares) {
    partition.shares.push_back(describe(variables, share, std::min(each, named_max_of_share)));
  }
  return partition;
}

}  // namespace trainyard::runtime
