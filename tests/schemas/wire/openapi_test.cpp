// The OpenAPI document is whole, and what REST shows (job_json) is what it says. Whether the server
// answers so is for tests/e2e.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "schemas/files/sha256.h"
#include "schemas/wire/job_json.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/partition_json.h"
#include "tests/schemas/json_schema.h"
#include "tests/schemas/wire/spec_corpus.h"

using namespace trainyard;
using nlohmann::json;

namespace {

json document() {
  std::ifstream file("schemas/http/openapi.json");
  REQUIRE(file.good());
  return json::parse(file);
}

template <class Visit>
void walk(const json& value, const Visit& visit) {
  visit(value);
  if (!value.is_structured()) return;
  for (const json& child : value) walk(child, visit);
}

// The value has every member that the component names, and no other.
void check_component(const json& openapi, const std::string& name, const json& value) {
  INFO(name << ": " << value.dump());
  const json& component = openapi.at("components").at("schemas").at(name);
  CHECK(complaint(openapi, {{"$ref", "#/components/schemas/" + name}}, value).empty());
  for (const auto& [key, unused] : component.at("properties").items()) {
    INFO(key);
    CHECK(value.contains(key));
  }
  for (const auto& [key, unused] : value.items()) {
    INFO(key);
    CHECK(component.at("properties").contains(key));
  }
}

Job a_job() {
  Job job;
  job.id = JobId{"j7"};
  job.version = 3;
  job.spec = std::get<JobSpec>(parse_job_spec(good_specs()[0].text));
  job.spec_json = to_json(job.spec);
  job.spec_hash = sha256_hex(job.spec_json);
  job.state = JobState::running;
  job.reason = Reason::gang_running;
  job.attempt = 2;
  job.progress = {150, 600, {{"loss", 0.5}, {"steps_per_second", 10}, {"bad", NAN}}, {}};
  job.transitions.push_back(
      {JobState::queued, JobState::starting, Reason::gang_placed, "", 1, {5}});
  job.created_at = {1000};
  return job;
}

TaskAttempt a_task(std::int64_t attempt, Role role) {
  TaskAttempt task;
  task.key = {JobId{"j7"}, attempt, role, 0};
  task.agent = AgentId{"a"};
  task.host = "10.0.0.1";
  task.port = 20'001;
  task.state = TaskState::running;
  return task;
}

}  // namespace

TEST_CASE("every reference in the OpenAPI document leads somewhere", "[wire]") {
  const json openapi = document();
  CHECK(openapi.at("openapi") == "3.1.0");
  int references = 0;
  walk(openapi, [&](const json& value) {
    if (!value.is_object() || !value.contains("$ref")) return;
    const auto target = value.at("$ref").get<std::string>();
    INFO(target);
    REQUIRE(target.starts_with("#"));
    CHECK(openapi.contains(json::json_pointer(target.substr(1))));
    ++references;
  });
  CHECK(references > 50);
}

TEST_CASE("every operation has an id of its own, a success and an error", "[wire]") {
  const json openapi = document();
  std::set<std::string> ids;
  for (const auto& [path, operations] : openapi.at("paths").items()) {
    for (const auto& [method, operation] : operations.items()) {
      INFO(method << " " << path);
      CHECK(ids.insert(operation.at("operationId")).second);
      CHECK(operation.at("responses").contains("default"));
      const auto& responses = operation.at("responses");
      const bool later = responses.contains("501") && responses.size() == 3;  // 404, 501, default
      CHECK((later || responses.contains("200") || responses.contains("204")));
      const bool has_id = path.find("{id}") != path.npos;
      CHECK((!has_id || operation.contains("parameters")));
    }
  }
  CHECK(ids.size() >= 25);
}

TEST_CASE("every example of the OpenAPI document follows its schema", "[wire]") {
  const json openapi = document();
  int examples = 0;
  walk(openapi, [&](const json& value) {
    if (!value.is_object() || !value.contains("schema") || !value.contains("example")) return;
    INFO(value.at("example").dump());
    CHECK(complaint(openapi, value.at("schema"), value.at("example")) == "");
    ++examples;
  });
  CHECK(examples >= 10);
}

TEST_CASE("every request example is a job that can be submitted", "[wire]") {
  const json openapi = document();
  const json& body = openapi.at("paths").at("/v1/jobs").at("post").at("requestBody");
  for (const auto& [name, example] :
       body.at("content").at("application/json").at("examples").items()) {
    INFO(name);
    CHECK(std::holds_alternative<JobSpec>(parse_job_spec(example.at("value").dump())));
  }
}

TEST_CASE("a job is shown with what the contract lists, as documented", "[wire]") {
  const json openapi = document();
  Job job = a_job();
  std::vector<TaskAttempt> tasks = {a_task(1, Role::worker), a_task(2, Role::ps),
                                    a_task(2, Role::worker)};
  tasks[0].routes = "ps/0 by shared memory";  // of an attempt that is over
  tasks[2].routes = "ps/0 by tcp";
  const json shown = job_to_json(job, tasks);

  check_component(openapi, "Job", shown);
  const json& status = shown.at("status");
  check_component(openapi, "JobStatus", status);
  CHECK(shown.at("spec") == json::parse(job.spec_json));
  CHECK(status.at("progress") == 0.25);
  CHECK(status.at("eta_seconds").is_number_integer());
  CHECK(status.at("eta_seconds") == 45);
  CHECK(status.at("loss") == 0.5);
  CHECK(status.at("metrics").at("bad").is_null());
  CHECK(status.at("goal").is_null());
  CHECK(status.at("roles") == json::parse(R"({"ps": {"desired": 1, "running": 1},
                                              "worker": {"desired": 2, "running": 1}})"));
  CHECK(status.at("routes") == json{{"worker/0", "ps/0 by tcp"}});
}

TEST_CASE("a job that failed says what failed first", "[wire]") {
  Job job = a_job();
  job.state = JobState::failed;
  job.first_failure =
      FirstFailure{"worker/1", 2, AgentId{"a"}, Reason::exit_nonzero, {1, {}}, "no", "tail"};
  const json status = job_to_json(job, {}).at("status");
  check_component(document(), "Failure", status.at("first_failure"));
  CHECK(status.at("first_failure").at("exit_code") == 1);
  CHECK(status.at("eta_seconds").is_null());
}

TEST_CASE("progress stays between 0 and 1, and is 1 when the job has succeeded", "[wire]") {
  const auto progress = [](const Job& job) { return job_to_json(job, {})["status"]["progress"]; };
  Job job = a_job();
  job.progress.step = 700;
  CHECK(progress(job) == 1.0);
  job.progress = {};
  CHECK(progress(job) == 0.0);
  job.state = JobState::succeeded;
  CHECK(progress(job) == 1.0);
}

TEST_CASE("a job whose stored spec cannot be read is shown by its parsed one", "[wire]") {
  Job job = a_job();
  const json whole = json::parse(job.spec_json);
  job.spec_json = "{broken";
  CHECK(job_to_json(job, {}).at("spec") == whole);
}

TEST_CASE("a task is shown as documented, and unknown while its agent is silent", "[wire]") {
  const json openapi = document();
  TaskAttempt task = a_task(1, Role::ps);
  check_component(openapi, "Task", task_to_json(task));
  CHECK(task_to_json(task).at("address") == "10.0.0.1:20001");

  task.agent_silent = true;
  CHECK(task_to_json(task).at("state") == "unknown");
  task.state = TaskState::lost;
  task.exit.signal = 9;
  task.port = 0;
  CHECK(task_to_json(task).at("state") == "lost");
  CHECK(task_to_json(task).at("signal") == 9);
  CHECK(task_to_json(task).at("address").is_null());
  check_component(openapi, "Task", task_to_json(task));
}

TEST_CASE("how parameters are divided is shown as documented", "[wire]") {
  const Partition partition{.policy = Partitioning::round_robin,
                            .shares = {{.task = "ps/0",
                                        .bytes = 400,
                                        .transport = "tcp",
                                        .variables = {{.name = "w", .bytes = 400}},
                                        .variables_left_out = 1},
                                       {.task = "ps/1"}},
                            .tables = {"rows"}};
  check_component(document(), "Partition", shown_partition_to_json(partition, 2));
}

TEST_CASE("a checkpoint is shown with all its files, as documented", "[wire]") {
  Checkpoint checkpoint;
  checkpoint.step = 10;
  checkpoint.manifest = {"m.json", 5, std::string(64, 'a')};
  checkpoint.shards = {{"s1", 7, std::string(64, 'b')}};
  checkpoint.created_at = {1000};
  const json shown = checkpoint_to_json(checkpoint);
  check_component(document(), "Checkpoint", shown);
  CHECK(shown.at("bytes") == 12);
  CHECK(shown.at("files").size() == 2);
  CHECK(shown.at("files")[0].at("name") == "m.json");
}
