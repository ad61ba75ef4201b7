#include "tests/bench/training_run.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/wire/run_event_json.h"
#include "schemas/wire/task_json.h"
#include "tests/support/loopback.h"
#include "tests/support/program_path.h"

extern char** environ;

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

int free_port() { return port_of_socket(bind_to_loopback()); }

// Ports that are free here are so on hosts of their own, too.
std::vector<std::string> free_addresses(const std::vector<Seat>& seats) {
  std::vector<std::string> addresses;
  for (const Seat& seat : seats) {
    addresses.push_back(seat.host + ":" + std::to_string(free_port()));
  }
  return addresses;
}

const MetricEvent& metric_of(const RunEvent& event) { return std::get<MetricEvent>(event.what); }

double longest_part_of(const MetricEvent& metric) {
  const auto seconds = [&metric](const char* part) {
    return metric.values.at(part + std::string("_seconds"));
  };
  const double exchange = seconds("push") + seconds("wait") + seconds("pull");
  const double compute = seconds("input") + seconds("compute");
  return std::max(compute, exchange) / (compute + exchange);
}

}  // namespace

TrainingRun::TrainingRun(JobSpec spec, fs::path folder, Seats seats)
    : spec_(std::move(spec)), folder_(std::move(folder)), seats_(std::move(seats)) {
  seats_.ps.resize(static_cast<std::size_t>(spec_.ps.replicas));
  seats_.workers.resize(static_cast<std::size_t>(spec_.worker.replicas));
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  cluster_.ps = free_addresses(seats_.ps);
  cluster_.worker = free_addresses(seats_.workers);
}

TrainingRun::~TrainingRun() { fs::remove_all(folder_); }

TrainingRates TrainingRun::rates() {
  std::vector<std::pair<pid_t, Role>> children;
  for (std::int64_t i = 0; i < spec_.ps.replicas; ++i) {
    children.emplace_back(start(Role::ps, i), Role::ps);
  }
  for (std::int64_t i = 0; i < spec_.worker.replicas; ++i) {
    children.emplace_back(start(Role::worker, i), Role::worker);
  }
  TrainingRates rates;
  for (const auto& [child, role] : children) {
    int status = 0;
    rusage usage{};
    ::wait4(child, &status, 0, &usage);
    ENSURE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    std::int64_t& most = role == Role::ps ? rates.ps_bytes_max : rates.worker_bytes_max;
    most = std::max(most, std::int64_t{usage.ru_maxrss} * 1024);
  }

  std::vector<RunEvent> events = reports();
  ENSURE(events.size() >= 3);
  events.pop_back();  // it comes after the final evaluation
  const RunEvent& first = events.front();
  const RunEvent& last = events.back();
  rates.steps_per_second = static_cast<double>(metric_of(last).step - metric_of(first).step) *
                           1000.0 / static_cast<double>((last.time - first.time).count);
  for (std::size_t i = 1; i < events.size(); ++i) {
    rates.longest_part +=
        longest_part_of(metric_of(events[i])) / static_cast<double>(events.size() - 1);
  }
  return rates;
}

pid_t TrainingRun::start(Role role, std::int64_t index) const {
  TaskContext context;
  context.key = {.job = JobId{"bench"}, .attempt = 1, .role = role, .index = index};
  context.token = "bench";
  context.spec = spec_;
  context.cluster = cluster_;
  const auto& peers = role == Role::ps ? cluster_.ps : cluster_.worker;
  if (holds_parameters(spec_, role)) context.listen = peers[static_cast<std::size_t>(index)];
  const std::string name = std::string(name_of(role)) + "-" + std::to_string(index);
  context.folder = folder_ / name;
  const std::string path = folder_ / (name + ".json");
  std::ofstream(path) << to_json(context);

  const auto& seats = role == Role::ps ? seats_.ps : seats_.workers;
  std::vector<std::string> words = seats[static_cast<std::size_t>(index)].before_command;
  words.push_back(program_path("trainyard-runtime"));
  words.push_back(path);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  ENSURE(::posix_spawn(&child, argv.front(), &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

std::vector<RunEvent> TrainingRun::reports() const {
  std::ifstream lines(folder_ / "worker-0" / "events.jsonl");
  std::vector<RunEvent> reports;
  for (std::string line; std::getline(lines, line);) {
    auto event = parse_run_event(line, 0);
    if (event.has_value() && std::holds_alternative<MetricEvent>(event->what)) {
      reports.push_back(std::move(*event));
    }
  }
  return reports;
}

}  // namespace trainyard::bench
