#include "tests/attack/besieged.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/process_state.h"
#include "tests/support/waiting.h"

namespace trainyard::attack {
namespace {

constexpr long resident_mebibytes_max = 300;
// An answer is to come within a second, and so many that do not, one after another, are counted as
// Kubernetes counts them. One may: beside a build, five thousand connects can fill the queue of
// those that wait to be accepted, and whose SYN is dropped asks again after a second.
constexpr int late_max = 3;
// So many answers are to come once an attack is at its height: an attack may be over within less
// than the second that one dropped SYN takes.
constexpr int answers_at_the_end_min = 10;

// Requests of clients that have gone are read all the same, for whoever has sent all it had to say
// may still be listening: until they are through, others may be told to come again.
e2e::Answer answer_when_free(const std::string& url) {
  e2e::Answer answer;
  eventually(
      [&] {
        answer = e2e::get(url);
        return answer.status != 503;
      },
      in_patience(), rare_looks);
  return answer;
}

}  // namespace

HealthWatch::HealthWatch(std::string url) : url_(std::move(url)), thread_([this] { run(); }) {}

HealthWatch::~HealthWatch() { end(); }

HealthWatch::Seen HealthWatch::end() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  return seen_;
}

void HealthWatch::run() {
  int late_in_a_row = 0;
  int answers_at_the_end = 0;
  while (!ends_ || (answers_at_the_end < answers_at_the_end_min && seen_.trouble.empty())) {
    const bool is_the_end = ends_;
    const auto asked = std::chrono::steady_clock::now();
    const e2e::Answer answer =
        e2e::send({.url = url_, .body = {}, .headers = {}, .timeout_seconds = slowness});
    seen_.slowest = std::max(seen_.slowest, std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::steady_clock::now() - asked));
    const bool is_late = answer.status == 0;
    late_in_a_row = is_late ? late_in_a_row + 1 : 0;
    if (answer.status == 200) {
      ++seen_.answers;
      answers_at_the_end += is_the_end ? 1 : 0;
    } else if (seen_.trouble.empty() && (!is_late || late_in_a_row == late_max)) {
      seen_.trouble = "behind answer " + std::to_string(seen_.answers) + ": " +
                      (is_late ? std::to_string(late_max) + " late in a row"
                               : "status " + std::to_string(answer.status) + ": " + answer.body);
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
  WARN("the slowest of " << seen.answers << " answers of /healthz took " << seen.slowest.count()
                         << " ms");
  INFO(yard.server().output().substr(0, 4000));
  CHECK(seen.trouble == "");
  CHECK(seen.answers >= answers_at_the_end_min);
  REQUIRE(is_alive(yard.server().pid()));
  const long peak_mebibytes = status_number(yard.server().pid(), "VmHWM") / 1024;
  if (!is_sanitized) CHECK(peak_mebibytes < resident_mebibytes_max);
}

void Besieged::check_job() {
  CHECK(answer_when_free(yard.url("/v1/jobs/" + job + "/metrics")).body == metrics_);
  CHECK(answer_when_free(yard.url("/v1/jobs/" + job + "/logs?task=worker/0")).body == logs_);
  CHECK(yard.job(job).at("status").at("state") == "succeeded");
  CHECK(yard.model_sha256(job) == model_);
}

}  // namespace trainyard::attack
