// Whole async jobs of which a ps is killed and started again, while its workers live on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/files/event_log.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::all_of, test::last_of, test::small_job;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::int64_t many_steps = 3000;
#else
constexpr std::int64_t many_steps = 20'000;
#endif

JobSpec async_job() {
  JobSpec spec = small_job();
  spec.mode = Mode::async;
  spec.ps.replicas = 2;
  spec.training.max_steps = many_steps;
  spec.training.report_every_steps = 100;
  spec.training.evaluate_every_steps = many_steps / 2;
  spec.checkpoint.every_steps = 100;
  return spec;
}

std::int64_t number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  REQUIRE(at != std::string::npos);
  return std::atoll(text.c_str() + at + key.size());
}

void finish(Job& job) {
  for (const auto& [task, code] : job.wait_all()) {
    INFO(task << ": " << code << "\n" << job.task(task).output());
    REQUIRE(code == 0);
  }
  CHECK(last_of<MetricEvent>(job, "worker/0").step == many_steps);
  CHECK(last_of<ManifestEvent>(job, "worker/0").final_one);
}

std::int64_t lost_updates(const Job& job) {
  const auto values = last_of<MetricEvent>(job, "worker/0").values;
  const auto lost = values.find("lost_updates");
  return lost == values.end() ? 0 : static_cast<std::int64_t>(lost->second);
}

}  // namespace

TEST_CASE("an async job goes on when a ps is killed, and says what was lost",
          "[ps_return][threads]") {
  for (const std::int64_t ps : {0, 1}) {
    INFO("ps/" << ps);
    const std::string name = "ps/" + std::to_string(ps);
    Job job(async_job());
    job.with_returns().start();
    REQUIRE_FALSE(job.task("worker/0").wait_for_line("checkpoint committed").empty());
    job.kill_and_return(ps);
    const std::string back = job.task(name).wait_for_line("ps is back");
    REQUIRE_FALSE(back.empty());
    finish(job);

    CHECK(job.task(name).output().find("goes on from its own shard") != std::string::npos);
    CHECK(lost_updates(job) == number_after(back, "\"lost_updates\":"));
    const auto shard = last_of<ShardEvent>(job, "ps/0");
    CHECK(shard.version == many_steps);
    CHECK(last_of<ShardEvent>(job, "ps/1").version == many_steps);
    test::check_ledger(job);
    const auto phases = all_of<PhaseEvent>(job, name);
    CHECK(std::ranges::any_of(phases, [](const PhaseEvent& phase) {
      return phase.detail == "its process died and was started again";
    }));

    // What is committed is whole: it restores.
    JobSpec longer = async_job();
    longer.ps.replicas = 1;
    longer.training.max_steps = many_steps + 10;
    Job more(longer, job.newest_checkpoint());
    test::run(more);
  }
}

TEST_CASE("it goes on from the first parameters where no shard was written yet", "[ps_return]") {
  JobSpec spec = async_job();
  spec.checkpoint.every_steps = 0;
  Job job(spec);
  job.with_returns().start();
  REQUIRE_FALSE(job.task("worker/0").wait_for_line("\"training\"").empty());
  job.kill_and_return(0);
  REQUIRE_FALSE(job.task("ps/0").wait_for_line("ps is back").empty());
  finish(job);
}

TEST_CASE("it goes on from the newest of its shards that is whole", "[ps_return]") {
  Job job(async_job());
  job.with_returns().start();
  for (int i = 0; i < 3; ++i) {
    REQUIRE_FALSE(job.task("worker/0").wait_for_line("checkpoint committed").empty());
  }
  std::int64_t newest_whole = 0;
  job.kill_and_return(1, [&newest_whole](const std::string& folder) {
    const std::vector<ShardEvent> told = shards_told(folder);
    REQUIRE(told.size() >= 3);
    const auto path = [&folder](const ShardEvent& shard) { return folder + "/" + shard.file.name; };
    std::filesystem::remove(path(told[told.size() - 1]));
    std::filesystem::resize_file(path(told[told.size() - 2]), told.back().file.bytes - 5);
    newest_whole = told[told.size() - 3].step;
  });
  REQUIRE_FALSE(job.task("ps/1").wait_for_line("ps is back").empty());
  finish(job);
  const std::string& said = job.task("ps/1").output();
  CHECK(said.find("a shard of its own is of no use") != std::string::npos);
  const std::string goes_on = said.substr(said.find("goes on from its own shard"));
  CHECK(number_after(goes_on, "\"step\":") == newest_whole);
}

TEST_CASE("both ps may be killed, again and again, and workers whose staleness is bounded go on",
          "[ps_return]") {
  JobSpec spec = async_job();
  spec.worker.replicas = 3;
  spec.training.max_staleness = 2;
  Job job(spec);
  job.with_returns().start();
  std::map<std::string, std::int64_t> lost;
  for (const std::int64_t ps : {0, 1, 0, 0}) {
    const std::string name = "ps/" + std::to_string(ps);
    REQUIRE_FALSE(job.task("worker/0").wait_for_line("checkpoint committed").empty());
    job.kill_and_return(ps);
    const std::string back = job.task(name).wait_for_line("ps is back");
    REQUIRE_FALSE(back.empty());
    lost[name] = number_after(back, "\"lost_updates\":");
  }
  finish(job);
  CHECK(lost_updates(job) == lost.at("ps/0") + lost.at("ps/1"));
}

}  // namespace trainyard::runtime
