// The API's test yard.
#include "tests/api/routes/api_yard.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <utility>

#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"
#include "tests/support/waiting.h"

namespace trainyard::api {
namespace {

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

}  // namespace

ApiYard::ApiYard() {
  scheduler::SchedulerOptions options;
  options.state_dir = folder_.path("state");
  options.agent_address = "127.0.0.1:0";
  scheduler_ = value_or_throw(scheduler::Scheduler::start(options));
  service_ = std::make_unique<Service>(*scheduler_);
  server_ = value_or_throw(Server::start({.address = "127.0.0.1:0"}, service_->routes()));
}

ApiYard::~ApiYard() {
  service_->stop();
  server_->stop();
  scheduler_->stop();
}

RawResponse ApiYard::call(std::string_view method_and_path, std::string_view extra,
                          std::string_view body) {
  return RawClient(address()).call(method_and_path, extra, body);
}

nlohmann::json ApiYard::json(int status, std::string_view method_and_path, std::string_view body) {
  const RawResponse response = call(method_and_path, "", body);
  INFO(method_and_path << " -> " << response.status << " " << response.body);
  REQUIRE(response.status == status);
  return nlohmann::json::parse(response.body);
}

std::string ApiYard::submit(std::string_view spec, std::string_view extra) {
  const RawResponse response = call("POST /v1/jobs", extra, spec);
  INFO(response.body);
  REQUIRE(response.status == 201);
  return nlohmann::json::parse(response.body).at("id").get<std::string>();
}

nlohmann::json ApiYard::status_of(const std::string& id) {
  return json(200, "GET /v1/jobs/" + id).at("status");
}

void ApiYard::wait_for(const std::string& id,
                       const std::function<bool(const nlohmann::json&)>& holds) {
  const Deadline deadline = in_patience();
  std::int64_t version = 0;
  while (!is_past(deadline)) {
    const auto job = json(200, "GET /v1/jobs/" + id + "?wait_version=" + std::to_string(version) +
                                   "&timeout_seconds=5");
    if (holds(job)) return;
    version = job.at("version").get<std::int64_t>();
  }
  FAIL("the job did not get there: " << status_of(id).dump());
}

void ApiYard::wait_for_state(const std::string& id, const std::string& state) {
  wait_for(id, [&](const nlohmann::json& job) { return job.at("status").at("state") == state; });
}

RunningJob::RunningJob(ApiYard& yard, std::string_view submit_headers, std::string_view spec)
    : yard_(yard), agent_(yard.scheduler().agent_address(), "a1") {
  agent_.report();
  agent_.next();
  id_ = yard.submit(spec, submit_headers);
  run_what_is_wanted();
}

void RunningJob::run_what_is_wanted() {
  assignment_ = agent_.until([](const Assignment& now) { return !now.tasks.empty(); });
  for (const WantedTask& wanted : assignment_.tasks) {
    agent_.task(wanted).state = TaskState::running;
  }
  agent_.report();
  yard_.wait_for_state(id_, "running");
}

void RunningJob::start_again() {
  yard_.json(200, "POST " + path("/suspend"));
  agent_.until([](const Assignment& now) {
    return std::ranges::all_of(now.tasks, scheduler::is_told_to_stop);
  });
  for (TaskReport& report : agent_.state().tasks) {
    report.state = TaskState::killed;
    report.exit.signal = 15;
  }
  agent_.report();
  yard_.wait_for_state(id_, "suspended");
  agent_.until([](const Assignment& now) { return now.tasks.empty(); });
  agent_.state().tasks.clear();
  yard_.json(200, "POST " + path("/resume"));
  ++attempt_;
  log_ends_.clear();
  run_what_is_wanted();
}

void RunningJob::report_steps(std::int64_t first, std::int64_t last,
                              const std::vector<std::string>& names) {
  TaskReport& report = agent_.task(task("worker/0"));
  report.events_begin = report.events_end;
  report.events.clear();
  for (std::int64_t step = first; step <= last; ++step) {
    MetricEvent metric{step, last_step, {}};
    for (const std::string& name : names) metric.values[name] = static_cast<double>(attempt_);
    report.events.push_back({{1'700'000'000'000}, report.events_end, std::move(metric)});
    report.events_end += 100;
  }
  agent_.report();
  yard_.wait_for(id_, [&](const nlohmann::json& job) { return job["status"]["step"] == last; });
}

const WantedTask& RunningJob::task(std::string_view name) {
  const auto found = std::ranges::find_if(assignment_.tasks, [&](const WantedTask& wanted) {
    return task_name(wanted.task.key) == name;
  });
  if (found == assignment_.tasks.end()) throw std::runtime_error("no such task");
  return *found;
}

void RunningJob::tell(const WantedTask& wanted, decltype(RunEvent::what) what) {
  TaskReport& report = agent_.task(wanted);
  report.events_begin = report.events_end;
  report.events = {RunEvent{{1'700'000'000'000}, report.events_end, std::move(what)}};
  report.events_end += 100;
  agent_.report();
}

void RunningJob::report_loss(std::int64_t step, double loss) {
  tell(task("worker/0"), MetricEvent{step, last_step, {{"loss", loss}}});
  yard_.wait_for(id_, [&](const nlohmann::json& job) { return job["status"]["step"] == step; });
}

void RunningJob::tell_partition(const Partition& partition) {
  const std::int64_t version = yard_.json(200, "GET " + path()).at("version").get<std::int64_t>();
  tell(task("worker/0"), PartitionEvent{partition});
  yard_.wait_for(id_, [&](const nlohmann::json& job) { return job["version"] > version; });
}

void RunningJob::write_log(std::string_view name, std::string_view text) {
  const WantedTask& wanted = task(name);
  std::int64_t& end = log_ends_[std::string(name)];
  const auto answer = agent_.append_log({wanted.task.key, wanted.token, end, std::string(text)});
  if (!answer.status.ok()) throw std::runtime_error(answer.status.error_message());
  end = answer.end;
}

void RunningJob::commit_checkpoint(std::int64_t step, double loss,
                                   const std::vector<VariableInfo>& variables) {
  SafetensorsHeader header;
  std::vector<float> values;
  for (const VariableInfo& variable : variables) {
    std::int64_t elements = 1;
    for (const std::int64_t size : variable.shape) elements *= size;
    header.entries.push_back(
        {.name = to_tensor_name({variable.name, "", 0, elements}), .shape = {elements}});
    for (std::int64_t i = 1; i < elements; ++i) values.push_back(static_cast<float>(i));
    values.push_back(static_cast<float>(step));
  }
  std::string shard = *encode_safetensors_header(header);
  shard.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  const std::string folder = "step-" + std::to_string(step);
  const ArtifactFile shard_file{folder + "/shard.safetensors", std::ssize(shard),
                                sha256_hex(shard)};
  Manifest content;
  content.step = step;
  content.attempt = attempt_;
  content.job = id_;
  content.spec_hash = task("worker/0").task.spec_hash;
  content.mode = "sync";
  content.variables = variables;
  content.shards = {shard_file};
  const std::string manifest = to_json(content);
  const ArtifactFile manifest_file{folder + "/manifest.json", std::ssize(manifest),
                                   sha256_hex(manifest)};

  const WantedTask& ps = task("ps/0");
  const WantedTask& chief = task("worker/0");
  tell(ps, ShardEvent{step, shard_file});
  const bool last = step == last_step;
  tell(chief, ManifestEvent{step, manifest_file, {shard_file}, {{"test_loss", loss}}, last});
  agent_.put({ps.task.key, ps.token, 0, shard}, shard_file);
  agent_.put({chief.task.key, chief.token, 0, manifest}, manifest_file);
  yard_.wait_for(
      id_, [&](const nlohmann::json& job) { return job["status"]["latest_checkpoint"] == step; });
}

void RunningJob::end_well() {
  commit_checkpoint(last_step, 0.1);
  agent_.task(task("worker/0")).state = TaskState::succeeded;
  agent_.task(task("worker/0")).exit.code = 0;
  agent_.report();
  agent_.until([](const Assignment& now) {
    return std::ranges::all_of(now.tasks, scheduler::is_told_to_stop);
  });
  for (TaskReport& report : agent_.state().tasks) {
    report.state = TaskState::succeeded;
    report.exit.code = 0;
  }
  agent_.report();
  yard_.wait_for_state(id_, "succeeded");
}

}  // namespace trainyard::api
