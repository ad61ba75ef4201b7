#include "tests/agent/loop/yard.h"

#include "schemas/wire/job_spec_json.h"
#include "tests/support/program_path.h"

namespace trainyard::agent {
namespace {

JobSpec a_spec() {
  const auto parsed = parse_job_spec(
      R"({"model": "softmax_regression", "dataset": "synthetic_digits",
          "roles": {"ps": 1, "worker": 1}, "mode": "sync", "env": {"COLOUR": "green"}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  return std::get<JobSpec>(parsed);
}

}  // namespace

Yard::Yard(const std::string& script, std::int64_t log_bytes_max) : log_bytes_max_(log_bytes_max) {
  write_content(file("runtime"), script_prelude + script);
  std::filesystem::permissions(file("runtime"), std::filesystem::perms::owner_all);
  start();
}

Yard::~Yard() { stop(); }

void Yard::start() {
  DaemonOptions options;
  options.transport = "tcp";
  options.log_bytes_max = log_bytes_max_;
  options.id = AgentId{"agent-1"};
  options.server = server.address();
  options.work_dir = file("work");
  options.runtime = file("runtime");
  options.shim = program_path("trainyard-shim");
  options.data_roots = data_roots_;
  options.host.address = "127.0.0.1";
  options.host.capacity = {.cpus = 4, .memory_mb = 1024, .gpus = 2};
  options.host.first_port = 20000;
  options.host.last_port = 20999;
  options.host.allowed_env = {"COLOUR"};
  daemon_ = std::make_unique<Daemon>(options);
  thread_ = std::thread([this] { ENSURE(daemon_->run()); });
}

void Yard::stop() {
  if (!thread_.joinable()) return;
  daemon_->stop();
  thread_.join();
}

std::string Yard::task_folder(const TaskKey& key) const {
  return file("work/tasks/") + key.job.text + "/" + std::to_string(key.attempt) + "/" +
         std::string(name_of(key.role)) + "-" + std::to_string(key.index);
}

WantedTask a_wanted_task(const std::string& job, Role role) {
  WantedTask wanted;
  wanted.task.key = {.job = JobId{job}, .attempt = 1, .role = role, .index = 0};
  wanted.task.token = "gang-token-of-" + job;
  wanted.token = "token-of-" + job;
  wanted.task.spec_hash = std::string(64, 'a');
  wanted.task.spec = a_spec();
  wanted.task.cluster = {
      .ps = {"127.0.0.1:20000"}, .worker = {"127.0.0.1:0"}, .chief = {}, .evaluator = {}};
  if (role == Role::ps) wanted.task.listen = "127.0.0.1:0";
  wanted.resources = {.cpus = 2, .memory_mb = 64, .gpus = 1};
  wanted.gpus = {1};
  wanted.grace = seconds(30);
  return wanted;
}

}  // namespace trainyard::agent
