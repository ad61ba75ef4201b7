// What tests of whole jobs do and ask again and again.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "schemas/wire/job_spec_json.h"
#include "tests/environment.h"
#include "tests/runtime/role/job.h"

namespace trainyard::runtime::test {

using Codes = std::map<std::string, int>;

// What was parsed, which has to be right, for so many tasks; without ps all-reduce or local.
inline JobSpec with_tasks(const ParsedJobSpec& parsed, std::int64_t workers, std::int64_t ps) {
  if (const auto* const faults = std::get_if<std::vector<Fault>>(&parsed)) {
    for (const Fault& fault : *faults) UNSCOPED_INFO(fault.pointer << " " << fault.message);
  }
  REQUIRE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.worker.replicas = workers;
  spec.ps.replicas = ps;
  if (ps == 0) spec.training.strategy = workers == 1 ? Strategy::local : Strategy::all_reduce;
  return spec;
}

inline bool all_completed(const Codes& codes) {
  return std::ranges::all_of(codes, [](const auto& code) { return code.second == 0; });
}

template <class What>
std::vector<What> all_of(const Job& job, const std::string& task) {
  std::vector<What> found;
  for (const RunEvent& event : job.events(task)) {
    if (const auto* what = std::get_if<What>(&event.what)) found.push_back(*what);
  }
  return found;
}

template <class What>
What last_of(const Job& job, const std::string& task) {
  const auto found = all_of<What>(job, task);
  REQUIRE_FALSE(found.empty());
  return found.back();
}

inline void run(Job& job) {
  job.start();
  const Codes codes = job.wait_all();
  for (const auto& [name, code] : codes) {
    INFO(name << ": " << code << "\n" << job.task(name).output());
    REQUIRE(code == 0);
  }
}

inline std::vector<ArtifactFile> final_shards(const Job& job) {
  return last_of<ManifestEvent>(job, "worker/0").shards;
}

// Every checkpoint of an async job is a true cut: on all ps the same pushes of every worker count.
inline void check_ledger(const Job& job) {
  const std::vector<ManifestEvent> manifests = all_of<ManifestEvent>(job, "worker/0");
  REQUIRE_FALSE(manifests.empty());
  std::map<std::int64_t, std::vector<ShardEvent>> shards;  // by step
  for (std::size_t ps = 0; ps < manifests.front().shards.size(); ++ps) {
    for (const auto& shard : all_of<ShardEvent>(job, "ps/" + std::to_string(ps))) {
      shards[shard.step].push_back(shard);
    }
  }
  for (const ManifestEvent& manifest : manifests) {
    INFO("checkpoint of step " << manifest.step);
    const std::vector<ShardEvent>& of = shards[manifest.step];
    REQUIRE(of.size() == manifest.shards.size());
    for (const ShardEvent& shard : of) {
      REQUIRE_FALSE(shard.rank_steps.empty());
      CHECK(shard.rank_steps == of.front().rank_steps);
    }
  }
}

// Steps of 12 micro-batches; no ps: an all-reduce.
inline JobSpec micro_batch_job(std::int64_t workers, std::int64_t ps) {
  JobSpec spec = small_job();
  spec.training.global_batch_size = 48;
  spec.training.micro_batch_size = 4;
  spec.training.strategy = ps == 0 ? Strategy::all_reduce : Strategy::parameter_server;
  spec.ps.replicas = ps;
  spec.worker.replicas = workers;
  return spec;
}

// Long enough to be interrupted, with slots, on two ps.
inline constexpr std::int64_t long_job_steps = is_sanitized ? 500 : 1200;
inline JobSpec long_job() {
  JobSpec spec = small_job();
  spec.ps.replicas = 2;
  spec.training.max_steps = long_job_steps;
  spec.training.evaluate_every_steps = 500;
  spec.checkpoint.every_steps = 100;
  return spec;
}

}  // namespace trainyard::runtime::test
