// Whoever reaches the agents' port may say what he likes: the server answers why it takes none of
// it, and goes on for everybody else. Over real gRPC.
#include <catch2/catch.hpp>

#include "tests/scheduler/loop/yard.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

// How the stream ends whose only report `change` has made.
template <class Change>
grpc::Status end_of(const Yard& yard, const std::string& name, Change change) {
  AgentPeer agent(yard.agent_address(), name);
  change(agent.state());
  agent.report();
  if (agent.next()) return grpc::Status::OK;  // it was answered
  return agent.finish();
}

void check_alive(Yard& yard) {
  AgentPeer honest(yard.agent_address(), "honest");
  REQUIRE(honest.report());
  REQUIRE(honest.next());
  CHECK(value_of(yard.submit(a_request())).job.attempt >= 0);
  const auto agents = value_of(yard.agents());
  REQUIRE(agents.size() == 1);
  CHECK(agents[0].record.id == AgentId{"honest"});
}

using Report = AgentReport&;

}  // namespace

TEST_CASE("more GPUs than there are bytes are refused by name", "[link][mend-A2]") {
  Yard yard;

  const grpc::Status status =
      end_of(yard, "liar", [](Report s) { s.host.capacity.gpus = std::int64_t{1} << 62; });

  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message() == "host.capacity.gpus: must be 0 to 1024, got 4611686018427387904");
  check_alive(yard);
}

TEST_CASE("four GPUs of one index are refused, and a job for four waits", "[link][mend-A2]") {
  Yard yard;

  const grpc::Status status = end_of(yard, "liar", [](Report s) {
    s.host.capacity.gpus = 4;
    s.host.gpus = {{0, "g", 1}, {0, "g", 1}, {0, "g", 1}, {0, "g", 1}};
  });

  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message() == "host.gpus[1].index: 0 is there twice");
  NewJob wanted = a_request();
  wanted.spec.worker.resources.gpus = 4;
  CHECK(value_of(yard.submit(wanted)).job.state == JobState::queued);
  check_alive(yard);
}

TEST_CASE("absurd readings of GPUs are refused by name", "[link][gpu]") {
  Yard yard;
  const auto end_with = [&](const std::string& name, const GpuReading& reading) {
    return end_of(yard, name, [&](Report s) {
      s.host.capacity.gpus = 1;
      s.host.gpus = {{0, "g", 1}};
      s.gpus = {reading};
    });
  };
  const grpc::Status hot = end_with("hot", {.index = 0, .temperature_celsius = INT64_MAX});
  CHECK(hot.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(hot.error_message().starts_with("gpus[0].temperature_celsius: must be -300 to 1000"));
  GpuReading crowded{.index = 0};
  crowded.strangers.resize(100'000, {4711, 1});
  CHECK(end_with("crowded", crowded).error_message() ==
        "gpus[0].strangers: must be at most 8, got 100000");
  CHECK(end_with("other", {.index = 7}).error_message() ==
        "gpus[0].index: 7 is no GPU of this host");
  check_alive(yard);
}

TEST_CASE("megabytes of labels are refused, whether or not they fit a message",
          "[link][mend-A2][large]") {
  Yard yard;
  const auto with_labels = [](int count) {
    return [count](Report s) {
      for (int i = 0; i < count; ++i) {
        s.host.labels["k" + std::to_string(i)] = std::string(1 << 20, 'x');
      }
    };
  };

  CHECK(end_of(yard, "small", with_labels(20)).error_message().starts_with("host.labels.k0: "));
  CHECK(end_of(yard, "large", with_labels(60)).error_code() ==
        grpc::StatusCode::RESOURCE_EXHAUSTED);
  check_alive(yard);
}

TEST_CASE("so many ghosts and no more become agents; those that are known still come",
          "[link][mend-A2]") {
  Yard yard;
  AgentPeer first(yard.agent_address(), "honest");
  REQUIRE(first.report());
  REQUIRE(first.next());
  int answered = 0;
  std::string refusal;

  for (int i = 0; i < 260; ++i) {
    const grpc::Status status = end_of(yard, "ghost-" + std::to_string(i), [](Report) {});
    answered += status.ok() ? 1 : 0;
    if (status.ok()) continue;
    CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
    refusal = status.error_message();
  }

  CHECK(answered == 199);  // and the honest one
  CHECK(refusal.find("200 new agents have come within a minute") != std::string::npos);
  CHECK(value_of(yard.agents()).size() == 200);
  AgentPeer again(yard.agent_address(), "honest", 2);
  REQUIRE(again.report());
  CHECK(again.next());
}

TEST_CASE("an agent that left can be deleted, one that is there cannot", "[link][mend-A2]") {
  Yard yard;
  AgentPeer agent(yard.agent_address(), "a1");
  REQUIRE(agent.report());
  REQUIRE(agent.next());
  const auto forget = [&](const std::string& name) -> Status {
    return answer_to<std::monostate>(
        [&](auto done) { yard.scheduler().forget_agent(AgentId{name}, std::move(done)); });
  };
  CHECK(forget("a1").error().code == Code::conflict);
  CHECK(forget("a2").error().code == Code::not_found);
  agent.state().leaving = true;
  REQUIRE(agent.report());
  REQUIRE(agent.next());

  REQUIRE(forget("a1"));

  CHECK(value_of(yard.agents()).empty());
  yard.restart();
  CHECK(value_of(yard.agents()).empty());
}
