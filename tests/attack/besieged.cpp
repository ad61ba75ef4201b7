#include "tests/attack/besieged.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/process_state.h"
#include "tests/support/waiting.h"

namespace trainyard::attack {
namespace {

constexpr long resident_mebibytes_max = 300;

}  // namespace

HealthWatch::HealthWatch(std::string url) : url_(std::move(url)), thread_([this] { run(); }) {}

HealthWatch::~HealthWatch() { end(); }

HealthWatch::Seen HealthWatch::end() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  return seen_;
}

void HealthWatch::run() {
  while (!ends_) {
    const auto asked = std::chrono::steady_clock::now();
    const e2e::Answer answer = e2e::get(url_);  // a server that is held up for good has a deadline
    seen_.slowest = std::max(seen_.slowest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::steady_clock::now() - asked));
    if (answer.status == 200) {
      ++seen_.answers;
    } else if (seen_.trouble.empty()) {
      seen_.trouble = "answer " + std::to_string(seen_.answers + 1) + " has status " +
                      std::to_string(answer.status) + ": " + answer.body;
    }
  }
}

Besieged::Besieged(std::vector<std::string> server_flags) : yard(std::move(server_flags)) {
  yard.start_agent("honest");
  yard.wait_for_agents(1);
  job = yard.submit(e2e::small_job(50));
  yard.wait_for_state(job, "succeeded");
  model_ = yard.model_sha256(job);
  metrics_ = e2e::get(yard.url("/v1/jobs/" + job + "/metrics")).body;
  logs_ = e2e::get(yard.url("/v1/jobs/" + job + "/logs?task=worker/0")).body;
  // What is let in from now on waits, so that the attack is all that the server has to do.
  const auto agent = e2e::get(yard.url("/v1/agents")).json().at("items").at(0);
  const auto id = agent.at("id").get<std::string>();
  REQUIRE(e2e::post(yard.url("/v1/agents/" + id + "/cordon")).status == 200);
  watch_ = std::make_unique<HealthWatch>(yard.url("/healthz"));
}

void Besieged::check_it_stood() {
  check_health();
  check_job();
}

void Besieged::check_health() {
  const HealthWatch::Seen seen = watch_->end();
  // Should be under a second. It is told and not judged: a build beside it stops the machine
  // longer.
  WARN("the slowest of " << seen.answers << " answers of /healthz took " << seen.slowest.count()
                         << " ms");
  INFO(yard.server().output().substr(0, 4000));
  CHECK(seen.trouble == "");
  CHECK(seen.answers > 0);
  REQUIRE(is_alive(yard.server().pid()));
  const long peak_mebibytes = status_number(yard.server().pid(), "VmHWM") / 1024;
  if (!is_sanitized) CHECK(peak_mebibytes < resident_mebibytes_max);
}

void Besieged::check_job() {
  CHECK(eventually([&] { return e2e::get(yard.url("/v1/jobs/" + job + "/metrics")).status != 503; },
                   in_seconds(30), rare_looks));
  CHECK(yard.job(job).at("status").at("state") == "succeeded");
  CHECK(yard.model_sha256(job) == model_);
  CHECK(e2e::get(yard.url("/v1/jobs/" + job + "/metrics")).body == metrics_);
  CHECK(e2e::get(yard.url("/v1/jobs/" + job + "/logs?task=worker/0")).body == logs_);
}

}  // namespace trainyard::attack
