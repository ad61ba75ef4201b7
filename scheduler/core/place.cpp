// Placement: group by group. A greedy choice, so that the same hosts always
// give the same answer in time proportional to hosts and seats; a packing that only a search would
// find is not found.
#include "scheduler/core/place.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "scheduler/core/assignment_size.h"
#include "schemas/types/env_names.h"
#include "schemas/types/task_context.h"

namespace trainyard::scheduler {
namespace {

struct Candidate {
  const Host* host = nullptr;
  Resources free;
  std::span<const TaskGroup> gang;
  // In the order in which they are given; nothing until they are asked for, as most are not.
  std::optional<std::vector<const GpuInfo*>> cards;
  std::int64_t ports = 0;
  std::int64_t gang_tasks = 0;  // of this gang, seated here already
  std::int64_t role_tasks = 0;  // of the group that is being seated
};

// What is good for others of the gang, too, is given last; and before it, of all cards, what says
// nothing of itself: it may be broken.
std::vector<const GpuInfo*>& cards_of(Candidate& of) {
  if (of.cards) return *of.cards;
  of.cards = cards_for({}, *of.host);
  const auto rank = [&of](const GpuInfo* card) {
    const auto asks = [card](const TaskGroup& group) {
      return group.each.gpus > 0 && group.gpu != GpuWish{} && grants(*card, group.gpu);
    };
    return std::tuple(card->memory_mb == 0, std::ranges::count_if(of.gang, asks), card->memory_mb,
                      card->index);
  };
  std::ranges::sort(*of.cards, {}, rank);
  return *of.cards;
}

std::int64_t count_granted(const Host& host, const GpuWish& wish) {
  return std::ssize(cards_for(wish, host));
}

std::int64_t count_granted(Candidate& candidate, const GpuWish& wish) {
  return std::ranges::count_if(cards_of(candidate),
                               [&wish](const GpuInfo* card) { return grants(*card, wish); });
}

template <class Room>  // const Host or Candidate
std::int64_t fit_count(const TaskGroup& group, Room& room) {
  std::int64_t count = group.replicas;
  const auto bound_by = [&count](std::int64_t need, std::int64_t have) {
    if (need > 0) count = std::min(count, std::max<std::int64_t>(have, 0) / need);
  };
  bound_by(group.each.cpus, room.free.cpus);
  bound_by(group.each.memory_mb, room.free.memory_mb);
  bound_by(group.each.gpus, room.free.gpus);
  if (group.gpu != GpuWish{}) bound_by(group.each.gpus, count_granted(room, group.gpu));
  bound_by(group.ports, room.ports);
  return count;
}

std::vector<int> take_cards(Candidate& on, const TaskGroup& group) {
  std::vector<int> slots;
  if (group.each.gpus == 0) return slots;
  std::erase_if(cards_of(on), [&](const GpuInfo* card) {
    const bool is_taken = std::cmp_less(slots.size(), group.each.gpus) && grants(*card, group.gpu);
    if (is_taken) slots.push_back(card->index);
    return is_taken;
  });
  return slots;
}

void seat(Candidate& on, const TaskGroup& group, Placement& seats) {
  const auto index = std::count_if(seats.begin(), seats.end(),
                                   [&](const Seat& s) { return s.role == group.role; });
  seats.push_back({group.role, index, on.host->agent, take_cards(on, group)});
  on.free = on.free - group.each;
  on.ports -= group.ports;
  ++on.gang_tasks;
  ++on.role_tasks;
}

// The host with the fewest tasks of the role; of those the one with the most free cpus.
Candidate* best_to_spread(std::vector<Candidate>& hosts, const TaskGroup& group) {
  Candidate* best = nullptr;
  for (Candidate& host : hosts) {
    if (fit_count(group, host) == 0) continue;
    const auto rank = [](const Candidate& c) { return std::tuple(c.role_tasks, -c.free.cpus); };
    if (best == nullptr || rank(host) < rank(*best)) best = &host;
  }
  return best;
}

// The host that holds the most of what is left; of those one the gang uses already, else the
// tightest.
Candidate* best_to_pack(std::vector<Candidate>& hosts, const TaskGroup& group) {
  Candidate* best = nullptr;
  const auto rank = [&group](Candidate& c) {
    return std::tuple(-fit_count(group, c), c.gang_tasks > 0 ? 0 : 1, c.free.gpus, c.free.cpus,
                      c.free.memory_mb);
  };
  for (Candidate& host : hosts) {
    if (best == nullptr || rank(host) < rank(*best)) best = &host;
  }
  if (best != nullptr && fit_count(group, *best) == 0) return nullptr;
  return best;
}

bool seat_group(std::vector<Candidate>& hosts, TaskGroup group, Placement& seats) {
  for (Candidate& host : hosts) host.role_tasks = 0;
  while (group.replicas > 0) {
    const bool spread = group.policy == PlacementPolicy::spread;
    Candidate* const on = spread ? best_to_spread(hosts, group) : best_to_pack(hosts, group);
    if (on == nullptr) return false;
    const std::int64_t count = spread ? 1 : fit_count(group, *on);
    for (std::int64_t i = 0; i < count; ++i) seat(*on, group, seats);
    group.replicas -= count;
  }
  return true;
}

std::optional<Placement> seat_all(std::vector<Candidate> hosts, std::span<const TaskGroup> groups) {
  Placement seats;
  for (const TaskGroup& group : groups) {
    if (!seat_group(hosts, group, seats)) return std::nullopt;
  }
  std::ranges::sort(seats, {}, [](const Seat& s) { return std::pair(s.role, s.index); });
  return seats;
}

}  // namespace

std::vector<TaskGroup> gang_of(const JobSpec& spec) {
  std::vector<TaskGroup> groups;
  const auto add = [&](Role role, const RoleSpec& of) {
    const std::int64_t ports = listens(spec, role) ? 2 : 1;
    if (of.replicas > 0)
      groups.push_back({role, of.replicas, of.resources, of.placement, ports, of.gpu});
  };
  add(Role::ps, spec.ps);
  add(Role::worker, spec.worker);
  if (spec.chief) add(Role::chief, *spec.chief);
  if (spec.evaluator) add(Role::evaluator, *spec.evaluator);
  return groups;
}

bool carries(const Labels& has, const Labels& wanted) {
  return std::ranges::all_of(wanted, [&has](const auto& label) {
    const auto found = has.find(label.first);
    return found != has.end() && found->second == label.second;
  });
}

bool admits(const Host& host, const JobSpec& spec) {
  const auto is_allowed = [&host](const auto& variable) {
    const std::string& name = variable.first;
    return host.allowed_env == nullptr ? is_env_allowed_everywhere(name)
                                       : is_env_allowed(name, *host.allowed_env);
  };
  return carries(*host.labels, spec.scheduling.host_labels) &&
         std::ranges::all_of(spec.env, is_allowed);
}

std::int64_t count_that_fit(const TaskGroup& group, const Host& host) {
  return fit_count(group, host);
}

const GpuProcess* stranger_on(std::span<const GpuReading> readings, int slot) {
  const auto reading = std::ranges::lower_bound(readings, slot, {}, &GpuReading::index);
  const bool is_there = reading != readings.end() && reading->index == slot;
  return is_there && !reading->strangers.empty() ? &reading->strangers.front() : nullptr;
}

std::vector<const GpuInfo*> cards_for(const GpuWish& wish, const Host& host) {
  std::vector<const GpuInfo*> cards;
  for (const GpuInfo& card : host.slots) {
    const bool has_no_task = host.free_slots == nullptr || host.free_slots->contains(card.index) ||
                             std::ranges::count(host.given_back, card.index) > 0;
    if (!has_no_task || stranger_on(host.readings, card.index) != nullptr) continue;
    if (grants(card, wish)) cards.push_back(&card);
  }
  return cards;
}

namespace {

// The whole gang, as many workers as the spec has replicas.
std::optional<Placement> place_all(const JobSpec& spec, std::span<const Host> hosts) {
  const std::vector<TaskGroup> gang = gang_of(spec);
  std::vector<TaskGroup> groups = gang;
  std::vector<Candidate> candidates;
  const std::int64_t needed = assignment_bytes(spec);
  for (const Host& host : hosts) {
    if (!admits(host, spec) || host.assignment_bytes < needed) continue;
    const auto holds_one = [&host](const TaskGroup& g) { return count_that_fit(g, host) > 0; };
    if (!std::ranges::any_of(groups, holds_one)) continue;
    candidates.push_back(
        {.host = &host, .free = host.free, .gang = gang, .cards = {}, .ports = host.ports});
  }

  const auto size = [](const TaskGroup& group) {
    return std::tuple(group.each.gpus, group.each.cpus, group.each.memory_mb);
  };
  const auto spreads = [](const TaskGroup& g) { return g.policy == PlacementPolicy::spread; };
  std::ranges::stable_sort(groups, std::greater{}, size);
  std::vector<TaskGroup> spread_first = groups;
  std::stable_partition(spread_first.begin(), spread_first.end(), spreads);
  if (auto seats = seat_all(candidates, spread_first)) return seats;
  if (auto seats = seat_all(candidates, groups)) return seats;
  for (TaskGroup& group : groups) group.policy = PlacementPolicy::pack;
  return seat_all(std::move(candidates), groups);
}

}  // namespace

std::optional<Placement> place(const JobSpec& spec, std::span<const Host> hosts) {
  auto whole = place_all(spec, hosts);
  if (whole || !spec.worker.min_replicas) return whole;
  JobSpec fewer = spec;
  fewer.worker.replicas = *spec.worker.min_replicas;
  auto best = place_all(fewer, hosts);
  // The most that still fit lie in [min_replicas, too_many).
  std::int64_t too_many = spec.worker.replicas;
  while (best && fewer.worker.replicas + 1 < too_many) {
    const std::int64_t fits = fewer.worker.replicas;
    fewer.worker.replicas = std::midpoint(fits, too_many);
    if (auto more = place_all(fewer, hosts)) {
      best = std::move(more);
    } else {
      too_many = std::exchange(fewer.worker.replicas, fits);
    }
  }
  return best;
}

}  // namespace trainyard::scheduler
