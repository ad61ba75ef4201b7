// What REST shows of a job that runs: tasks, metrics, events, logs, checkpoints, agents.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "api/routes/checkpoints.h"
#include "schemas/wire/safetensors.h"
#include "tests/api/routes/api_yard.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

TEST_CASE("the tasks, the cluster and the host of a running job are shown", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);

  const json tasks = yard.json(200, "GET " + run.path("/tasks")).at("items");
  CHECK(tasks.size() == 3);
  for (const json& task : tasks) CHECK(task.at("state") == "running");
  const json cluster = yard.json(200, "GET " + run.path("/cluster"));
  CHECK(cluster.at("ps").size() == 1);
  CHECK(cluster.at("worker").size() == 2);
  CHECK(yard.status_of(run.id()).at("roles").at("worker") == json{{"desired", 2}, {"running", 2}});
  const json agents = yard.json(200, "GET /v1/agents").at("items");
  REQUIRE(agents.size() == 1);
  CHECK(agents[0].at("tasks").size() == 3);
  CHECK(agents[0].at("used").at("cpus") == 3);
  CHECK(agents[0].at("state") == "ready");
}

TEST_CASE("a submit that is repeated shows the job as it is by then", "[routes]") {
  ApiYard yard;
  const std::string key = "Idempotency-Key: once\r\n";
  RunningJob run(yard, key);

  const RawResponse again = yard.call("POST /v1/jobs", key, small_spec);
  const RawResponse shown = yard.call("GET " + run.path());

  CHECK(again.status == 201);
  CHECK(again.headers.at("location") == run.path());
  CHECK(again.headers.at("etag") == shown.headers.at("etag"));
  CHECK(json::parse(again.body) == json::parse(shown.body));
  CHECK(json::parse(again.body)["status"]["roles"]["worker"]["running"] == 2);
}

TEST_CASE("an agent is cordoned and used again", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);

  CHECK(yard.json(200, "POST /v1/agents/a1/cordon").at("cordoned") == true);
  CHECK(yard.json(200, "GET /v1/agents").at("items")[0].at("state") == "cordoned");
  CHECK(yard.json(200, "POST /v1/agents/a1/uncordon").at("state") == "ready");
  CHECK(yard.call("POST /v1/agents/none/cordon").status == 404);
  const json drained = yard.json(200, "POST /v1/agents/a1/drain");
  CHECK(drained.at("cordoned") == true);
  CHECK(drained.at("state") == "draining");
  const json job = yard.json(200, "GET " + run.path(""));
  CHECK(job.at("status").at("state") == "stopping");
  CHECK(job.at("status").at("goal") == "queued");
  CHECK(job.at("status").at("reason") == "AGENT_DRAINED");
  CHECK(yard.json(404, "POST /v1/agents/none/drain").at("code") == "not_found");
  CHECK(yard.call("POST /v1/agents/a1/drain?now=true").status == 400);
}

TEST_CASE("only an agent that is down can be deleted", "[routes][mend-A2]") {
  ApiYard yard;
  scheduler::AgentPeer agent(yard.scheduler().agent_address(), "a1");
  REQUIRE(agent.report());
  REQUIRE(agent.next());
  const json refused = yard.json(409, "DELETE /v1/agents/a1");
  CHECK(refused.at("detail").get<std::string>().find("it is ready") != std::string::npos);
  CHECK(yard.call("DELETE /v1/agents/none").status == 404);
  agent.state().leaving = true;
  REQUIRE(agent.report());
  REQUIRE(agent.next());

  CHECK(yard.call("DELETE /v1/agents/a1").status == 204);

  CHECK(yard.json(200, "GET /v1/agents").at("items").empty());
  CHECK(yard.call("DELETE /v1/agents/a1").status == 404);
}

TEST_CASE("metrics come as JSON and as CSV, by name and range of steps", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  for (const int step : {10, 20, 30}) run.report_loss(step, 1.0 / step);

  const json all = yard.json(200, "GET " + run.path("/metrics"));
  REQUIRE(all.at("series").size() == 1);
  CHECK(all.at("series")[0].at("name") == "loss");
  CHECK(all.at("series")[0].at("points").size() == 3);
  const json some =
      yard.json(200, "GET " + run.path("/metrics?names=loss&from_step=15&to_step=20"));
  REQUIRE(some.at("series")[0].at("points").size() == 1);
  CHECK(some.at("series")[0].at("points")[0].at("step") == 20);
  CHECK(some.at("series")[0].at("points")[0].at("value") == 0.05);

  const RawResponse too_few = yard.call("GET " + run.path("/metrics?max_points=5"));
  CHECK(too_few.status == 400);
  CHECK_THAT(too_few.body, Catch::Contains("max_points") && Catch::Contains("at least 6"));
  const RawResponse csv = yard.call("GET " + run.path("/metrics"), "Accept: text/csv\r\n");
  CHECK(csv.headers.at("content-type") == "text/csv; charset=utf-8");
  CHECK_THAT(csv.body, Catch::StartsWith("name,step,time,value\nloss,10,2023-"));
  CHECK(std::ranges::count(csv.body, '\n') == 4);
}

TEST_CASE("the timeline comes in pages", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);

  const json all = yard.json(200, "GET " + run.path("/events")).at("items");
  REQUIRE(all.size() > 2);
  const json first = yard.json(200, "GET " + run.path("/events?limit=2"));
  CHECK(first.at("items").size() == 2);
  const json rest = yard.json(200, "GET " + run.path("/events?page_token=") +
                                       first.at("next_page_token").get<std::string>());
  CHECK(rest.at("items").size() == all.size() - 2);
  CHECK(rest.at("items")[0] == all[2]);
}

TEST_CASE("logs are shown by task, by their last lines, and followed until the job ends",
          "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  run.write_log("worker/0", "one\ntwo\nthree\n");
  run.write_log("ps/0", "serving\n");

  CHECK(yard.call("GET " + run.path("/logs")).body == "one\ntwo\nthree\n");
  CHECK(yard.call("GET " + run.path("/logs?tail=2")).body == "two\nthree\n");
  CHECK(yard.call("GET " + run.path("/logs?tail=0")).body.empty());
  CHECK(yard.call("GET " + run.path("/logs?task=ps/0&attempt=1")).body == "serving\n");
  CHECK(yard.call("GET " + run.path("/logs?task=worker/1")).status == 200);
  CHECK(yard.call("GET " + run.path("/logs?task=worker/9")).status == 404);
  CHECK(yard.call("GET " + run.path("/logs?attempt=2")).status == 404);

  RawClient following(yard.address());
  following.request("GET " + run.path("/logs?follow=true&tail=1"));
  CHECK(following.read_to_head().headers.at("content-type") == "text/plain; charset=utf-8");
  CHECK(following.read_until("three\n").find("two") == std::string::npos);
  run.write_log("worker/0", "four\n");
  CHECK_THAT(following.read_until("four\n"), Catch::Contains("four\n"));
  run.write_log("worker/0", "the end\n");
  run.end_well();
  CHECK_THAT(following.read_until("0\r\n\r\n"), Catch::Contains("the end\n"));
  CHECK(following.ended());
}

TEST_CASE("a log that is no regular file is an error that names it, and holds nobody", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  const std::string log = yard.scheduler().log_path(run.task("worker/0").task.key);
  std::filesystem::create_directories(std::filesystem::path(log).parent_path());
  SECTION("a pipe") { REQUIRE(::mkfifo(log.c_str(), 0600) == 0); }
  SECTION("a link") { std::filesystem::create_symlink("/etc/passwd", log); }

  for (const char* wanted : {"/logs", "/logs?tail=-1", "/logs?tail=0", "/logs?follow=true"}) {
    INFO(wanted);
    const json problem = yard.json(503, "GET " + run.path(wanted));
    CHECK_THAT(problem.at("detail").get<std::string>(), Catch::Contains(log));
  }
}

TEST_CASE("who follows a log and lags behind gets the logs of all newer attempts, in order",
          "[routes][mend-C]") {
  constexpr int pieces = 64;  // of 256 KiB: more than sockets hold
  ApiYard yard;
  RunningJob run(yard);
  for (int piece = 0; piece < pieces; ++piece) {
    run.write_log("worker/0", std::string(256 << 10, 'x'));
  }
  run.write_log("worker/0", "\nend of the first\n");
  RawClient following(yard.address());
  following.request("GET " + run.path("/logs?follow=true&tail=1000"));
  CHECK(following.read_to_head().status == 200);

  // Meanwhile nothing is read.
  run.start_again();
  run.write_log("worker/0", "of the second\n");
  run.start_again();
  run.write_log("worker/0", "of the third\n");
  run.end_well();

  const std::string& log = following.read_until("0\r\n\r\n");
  std::size_t at = 0;
  for (const char* next : {"end of the first\n", "==> attempt 2 <==\n", "of the second\n",
                           "==> attempt 3 <==\n", "of the third\n"}) {
    INFO(next);
    at = log.find(next, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(log.size() > pieces * (256 << 10));
  CHECK(following.ended());
}

TEST_CASE("the reports of a job that has ended are thinned", "[routes][mend-B15]") {
  ApiYard yard;
  RunningJob run(yard);
  for (std::int64_t first = 1; first < 12'000; first += 1000) {
    run.report_steps(first, first + 999, {"loss"});
  }
  const auto points = [&] {
    const json answer = yard.json(200, "GET " + run.path("/metrics?names=loss&max_points=100000"));
    return answer.at("series").at(0).at("points");
  };
  CHECK(points().size() == 12'000);

  run.end_well();

  CHECK(eventually([&] { return points().size() <= 10'000; }));
  const json left = points();
  CHECK(left.size() >= 100);
  CHECK(left.front().at("step") == 1);
}

TEST_CASE("a checkpoint is listed and downloaded, whole and in ranges", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  CHECK(yard.call("GET " + run.path("/checkpoints/latest/download")).status == 404);
  run.commit_checkpoint(100, 0.25);
  run.commit_checkpoint(200, 0.5);

  const json list = yard.json(200, "GET " + run.path("/checkpoints")).at("items");
  REQUIRE(list.size() == 2);
  CHECK(list[0].at("step") == 100);
  CHECK(list[0].at("files").size() == 2);
  const RawResponse latest = yard.call("GET " + run.path("/checkpoints/latest/download"));
  REQUIRE(latest.status == 200);
  CHECK(latest.headers.at("etag") == '"' + sha256_hex(latest.body) + '"');
  const auto header = decode_safetensors_header(latest.body, std::ssize(latest.body));
  REQUIRE(header.has_value());
  CHECK(header->entries[0].name == "w");
  const RawResponse step = yard.call("GET " + run.path("/checkpoints/200/download"));
  CHECK(step.body == latest.body);
  const RawResponse best = yard.call("GET " + run.path("/checkpoints/best/download"));
  CHECK(best.body == yard.call("GET " + run.path("/checkpoints/100/download")).body);

  const std::string etag = "If-Range: " + latest.headers.at("etag") + "\r\n";
  const RawResponse part =
      yard.call("GET " + run.path("/checkpoints/latest/download"), "Range: bytes=8-\r\n" + etag);
  CHECK(part.status == 206);
  CHECK(part.body == latest.body.substr(8));
  CHECK(yard.call("GET " + run.path("/checkpoints/7/download")).status == 404);
  CHECK(yard.call("GET " + run.path("/checkpoints/newest/download")).status == 400);
}

TEST_CASE("best is the lowest loss or the highest of anything else", "[routes]") {
  const auto with = [](std::int64_t step, std::map<std::string, double> metrics) {
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.metrics = std::move(metrics);
    return checkpoint;
  };
  const std::vector<Checkpoint> all{with(1, {{"loss", 0.5}, {"accuracy", 0.1}}),
                                    with(2, {{"loss", NAN}, {"accuracy", 0.9}}),
                                    with(3, {{"loss", 0.25}, {"accuracy", 0.5}}), with(4, {})};

  CHECK(choose_checkpoint(all, "best", "loss")->step == 3);
  CHECK(choose_checkpoint(all, "best", "accuracy")->step == 2);
  CHECK(choose_checkpoint(all, "latest", "loss")->step == 4);
  CHECK(choose_checkpoint(all, "best", "other").error().code == Code::not_found);
  CHECK(choose_checkpoint(all, "-1", "loss").error().code == Code::invalid);
}

TEST_CASE("updates of running jobs are counted by staleness for Prometheus", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);
  const std::string counter = "trainyard_job_updates_total{job=\"" + run.id() + "\",staleness=\"";
  CHECK(yard.call("GET /metrics").body.find(counter) == std::string::npos);

  run.report_steps(1, 1, {"loss", "staleness", "staleness_updates_0", "staleness_updates_4_to_7"});

  const std::string body = yard.call("GET /metrics").body;
  CHECK_THAT(body, Catch::Contains(counter + "0\"} 1\n"));
  CHECK_THAT(body, Catch::Contains(counter + "4_to_7\"} 1\n"));
  CHECK(body.find(counter + "1\"}") == std::string::npos);
  run.end_well();
  CHECK(yard.call("GET /metrics").body.find(counter) == std::string::npos);
}

TEST_CASE("the server tells of itself", "[routes]") {
  ApiYard yard;
  RunningJob run(yard);

  const RawResponse metrics = yard.call("GET /metrics");
  CHECK_THAT(metrics.headers.at("content-type"), Catch::StartsWith("text/plain; version=0.0.4"));
  CHECK_THAT(metrics.body, Catch::Contains("trainyard_jobs{state=\"running\"} 1\n"));
  CHECK_THAT(metrics.body, Catch::Contains("trainyard_jobs{state=\"suspended\"} 0\n"));
  CHECK_THAT(metrics.body, Catch::Contains("trainyard_save_seconds_bucket{le=\"+Inf\"}"));
  CHECK(yard.json(200, "GET /healthz").at("status") == "ok");
  CHECK(yard.json(200, "GET /version").at("name") == "trainyard");
  CHECK(yard.json(200, "GET /openapi.json").at("openapi").get<std::string>().starts_with("3.1"));
  CHECK(yard.json(200, "GET /v1/schemas/job").contains("properties"));
}
