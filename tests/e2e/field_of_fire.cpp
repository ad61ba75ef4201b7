#include "tests/e2e/field_of_fire.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <utility>

namespace trainyard::e2e {

using nlohmann::json;

FieldOfFire::FieldOfFire(const Round& round)
    : round_(round), watch_(seen_calls(), [this](const WatchedCall& call) {
        ledger_.note(call);
        return saboteur_.look(call);
      }) {
  yard_.kill_server();
  start_again_who_died();  // the agent begins
  yard_.wait_for_agents(1);
}

FieldOfFire::~FieldOfFire() {
  saboteur_.plan({});
  yard_.agent("a").signal(SIGKILL);
  yard_.server().signal(SIGKILL);
  yard_.agent("a").wait(in_seconds(10));
  yard_.server().wait(in_seconds(10));
}

FieldOfFire::End FieldOfFire::train(std::vector<Kill> kills) {
  ledger_.clear();
  // Each job makes the data anew: what only the first one does could not be struck in a later one.
  std::filesystem::remove_all(yard_.folder().path("agent-a") + "/data-cache");
  const std::string id = yard_.submit(round_.spec);
  started_again_.clear();
  saboteur_.plan(std::move(kills));
  wait_until_it_succeeds(id);
  saboteur_.stop();
  End end{.model = {}, .struck = saboteur_.struck(), .counts = saboteur_.counts()};
  start_again_who_died();  // at the very end
  if (round_.promise == Promise::same_bytes) end.model = yard_.model_sha256(id);
  if (round_.promise == Promise::true_cuts) ledger_.check();
  return end;
}

void FieldOfFire::wait_until_it_succeeds(const std::string& id) {
  const Deadline deadline = in_seconds(120);
  std::int64_t version = 0;
  json last;
  while (!is_past(deadline)) {
    start_again_who_died();
    const Answer answer = get(
        yard_.url("/v1/jobs/" + id + "?timeout_seconds=1&wait_version=" + std::to_string(version)));
    if (answer.status == 0) continue;  // it has just died
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    last = answer.json();
    const auto state = last.at("status").at("state").get<std::string>();
    if (state == "succeeded") return;
    INFO(last.dump(2));
    REQUIRE(state != "failed");
    version = last.at("version").get<std::int64_t>();
  }
  INFO("job: " << last.dump(2));
  INFO("server: " << yard_.server().output());
  INFO("agent: " << yard_.agent("a").output());
  FAIL("the job hangs");
}

void FieldOfFire::start_again_who_died() {
  if (yard_.server().wait(death_of("server"))) {
    ++started_again_["server"];
    watch_.over([this] { yard_.start_server(); });
  }
  if (yard_.has_agent("a")) {
    if (!yard_.agent("a").wait(death_of("agent"))) return;
    ++started_again_["agent"];
  }
  watch_.over([this] { yard_.start_agent("a", {"--cpus", "8", "--transport", round_.transport}); });
}

// Who was struck is dead in a moment, though it may answer until then; who was not, is dead or not.
Deadline FieldOfFire::death_of(const std::string& role) {
  const auto struck = std::ranges::count(saboteur_.struck(), role, &ProtocolPoint::role);
  return struck > started_again_[role] ? in_seconds(10) : std::chrono::steady_clock::now();
}

}  // namespace trainyard::e2e
