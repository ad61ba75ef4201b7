#include "scheduler/core/obstacles.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/slots.h"
#include "schemas/types/env_names.h"

namespace trainyard::scheduler {
namespace {

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// RFC 6901: keys of labels have '/', and no '~'.
std::string below(std::string pointer, std::string_view key) {
  pointer += '/';
  for (const char byte : key) pointer += byte == '/' ? std::string("~1") : std::string(1, byte);
  return pointer;
}

std::string_view name_of(Asked asked) { return asked == Asked::known ? "known" : "ready"; }

std::string agent_that_is(Asked asked) { return "agent that is " + std::string(name_of(asked)); }

template <class Holds>
bool none(std::span<const Host> hosts, Holds holds) {
  return std::ranges::none_of(hosts, holds);
}

void check_labels(const JobSpec& spec, std::span<const Host> hosts, const std::string& agent,
                  std::vector<SpecFault>& faults) {
  const Labels& wanted = spec.scheduling.host_labels;
  for (const auto& [key, value] : wanted) {
    const Labels one{{key, value}};
    if (none(hosts, [&one](const Host& host) { return carries(*host.labels, one); })) {
      faults.push_back({below("/scheduling/host_labels", key),
                        "no " + agent + " has the label " + key + "=" + value});
    }
  }
  if (!faults.empty()) return;
  if (none(hosts, [&wanted](const Host& host) { return carries(*host.labels, wanted); })) {
    faults.push_back({"/scheduling/host_labels", "no " + agent + " has all of these host_labels"});
  }
}

void check_environment(const JobSpec& spec, std::span<const Host> hosts, const std::string& agent,
                       std::vector<SpecFault>& faults) {
  for (const auto& [name, value] : spec.env) {
    if (is_env_allowed_everywhere(name)) continue;
    const auto allows = [&name = name](const Host& host) {
      return host.allowed_env != nullptr && is_env_allowed(name, *host.allowed_env);
    };
    if (!none(hosts, allows)) continue;
    faults.push_back(
        {below("/env", name), "no " + agent + " allows the variable " + name + ": jobs may set " +
                                  std::string(env_allowed_in_words) +
                                  ", and what an agent is started with as --allow-env " + name});
  }
}

// Why the GPUs of these hosts are not as the group asks, of the first few hosts of which it is so.
std::string slots_of_hosts(std::span<const Host> hosts, const TaskGroup& group,
                           const JobSpec& spec) {
  constexpr int hosts_named_max = 4;
  if (group.each.gpus == 0) return "";
  std::int64_t most = 0;  // slots of one host
  for (const Host& host : hosts) {
    if (admits(host, spec)) most = std::max(most, host.free.gpus);
  }
  if (most < group.each.gpus) {
    return ": the most GPU slots of one host are " + std::to_string(most) +
           "; an agent offers the GPUs that its driver shows, or as many slots as --gpus says";
  }
  std::string words;
  int named = 0;
  for (const Host& host : hosts) {
    const bool has_enough =
        std::cmp_greater_equal(cards_for(group.gpu, host).size(), group.each.gpus);
    if (has_enough || !admits(host, spec)) continue;
    const std::string of_host = slots_in_words(host, group.gpu, [](int) { return ""; });
    if (of_host.empty()) continue;
    if (++named > hosts_named_max) return words + "; and so on";
    words += (words.empty() ? ": " : "; ") + of_host;
  }
  return words;
}

// What one task asks more of than any of these hosts has, GPUs left out.
std::string most_of_hosts(std::span<const Host> hosts, const TaskGroup& group,
                          const JobSpec& spec) {
  Resources most;
  for (const Host& host : hosts) {
    if (!admits(host, spec)) continue;
    most.cpus = std::max(most.cpus, host.free.cpus);
    most.memory_mb = std::max(most.memory_mb, host.free.memory_mb);
  }
  std::string words;
  if (group.each.cpus > most.cpus) words = counted(most.cpus, "cpu");
  if (group.each.memory_mb > most.memory_mb) {
    words += (words.empty() ? "" : " and ") + std::to_string(most.memory_mb) + " MB of memory";
  }
  return words.empty() ? "" : ": the most that one host has is " + words;
}

std::string lacks_of_hosts(std::span<const Host> hosts, const TaskGroup& group,
                           const JobSpec& spec) {
  const std::string most = most_of_hosts(hosts, group, spec);
  const std::string slots = slots_of_hosts(hosts, group, spec);
  if (most.empty() || slots.empty()) return most + slots;
  return most + ";" + slots.substr(1);
}

// The part of its resources that is in the way: what is asked of GPUs where it would fit without.
std::string pointer_of(const TaskGroup& group, std::span<const Host> hosts, const JobSpec& spec) {
  const std::string resources = "/roles/" + std::string(name_of(group.role)) + "/resources";
  const auto would_fit = [&](const GpuWish& wish) {
    TaskGroup other = group;
    other.gpu = wish;
    return !none(hosts, [&](const Host& host) {
      return admits(host, spec) && count_that_fit(other, host) > 0;
    });
  };
  if (group.gpu == GpuWish{} || !would_fit({})) return resources;
  const bool is_name = !group.gpu.name.empty() && !would_fit({.name = group.gpu.name});
  return resources + (is_name ? "/gpu_name" : "/gpu_memory_mb");
}

// Of hosts that have its labels and allow its variables.
void check_room(const JobSpec& spec, std::span<const Host> hosts, Asked asked,
                std::vector<SpecFault>& faults) {
  const bool is_choosy = !spec.scheduling.host_labels.empty();
  const std::string agent = agent_that_is(asked) + (is_choosy ? " and has its host_labels" : "");
  const std::size_t faults_before = faults.size();
  for (const TaskGroup& group : gang_of(spec)) {
    const auto holds = [&](const Host& host) {
      return admits(host, spec) && count_that_fit(group, host) > 0;
    };
    if (!none(hosts, holds)) continue;
    const std::string role(name_of(group.role));
    faults.push_back({pointer_of(group, hosts, spec), "no " + agent + " could hold one " + role +
                                                          " of " + task_in_words(group) +
                                                          lacks_of_hosts(hosts, group, spec)});
  }
  if (faults.size() > faults_before || place(spec, hosts)) return;
  Resources together;
  for (const Host& host : hosts) {
    if (admits(host, spec)) together = together + host.free;
  }
  faults.push_back({"/roles", "the agents that are " + std::string(name_of(asked)) +
                                  (is_choosy ? " and have its host_labels" : "") +
                                  " could not hold " + gang_in_words(spec) +
                                  " even if empty: together they have " + in_words(together)});
}

}  // namespace

std::vector<SpecFault> obstacles(const JobSpec& spec, std::span<const Host> empty, Asked asked) {
  const std::string agent = agent_that_is(asked);
  std::vector<SpecFault> faults;
  if (!empty.empty()) check_labels(spec, empty, agent, faults);
  check_environment(spec, empty, agent, faults);
  if (empty.empty()) return faults;
  if (!faults.empty()) {  // what no host could hold is so whatever its labels
    JobSpec anywhere = spec;
    anywhere.scheduling.host_labels.clear();
    anywhere.env.clear();
    check_room(anywhere, empty, asked, faults);
    return faults;
  }
  if (none(empty, [&spec](const Host& host) { return admits(host, spec); })) {
    return {{"/env", "no " + agent + " allows all of these variables and has its host_labels"}};
  }
  check_room(spec, empty, asked, faults);
  return faults;
}

std::string obstacles_in_words(const JobSpec& spec, std::span<const Host> empty, Asked asked) {
  std::string words;
  for (const SpecFault& fault : obstacles(spec, empty, asked)) {
    words += (words.empty() ? "" : "; ") + fault.message;
  }
  return words;
}

std::string in_words(const Resources& r) {
  std::string words;
  const auto add = [&words](const std::string& part) {
    words += (words.empty() ? "" : ", ") + part;
  };
  if (r.cpus > 0) add(counted(r.cpus, "cpu"));
  if (r.memory_mb > 0) add(std::to_string(r.memory_mb) + " MB of memory");
  if (r.gpus > 0) add(counted(r.gpus, "gpu"));
  return words.empty() ? "nothing" : words;
}

std::string task_in_words(const TaskGroup& group) {
  const std::string wish = wish_in_words(group.gpu);
  return in_words(group.each) + (wish.empty() ? "" : " ") + wish;
}

std::string gang_in_words(const JobSpec& spec) {
  std::string words;
  for (const TaskGroup& group : gang_of(spec)) {
    words += (words.empty() ? "" : " and ") + std::to_string(group.replicas) + " " +
             std::string(name_of(group.role)) + " of " + task_in_words(group);
  }
  return words;
}

}  // namespace trainyard::scheduler
