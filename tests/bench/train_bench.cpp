// Training as users run it: real processes of trainyard-runtime beside this program, one alone, and
// 1 ps with 2 workers, sync and async. Rates are taken from the chief's own reports, between the
// first and the last, so that starting and ending are not in them.
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/run_event_json.h"
#include "schemas/wire/task_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"

extern char** environ;

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 7;

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  ENSURE(::bind(fd, generic, length) == 0 && ::getsockname(fd, generic, &length) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

// A job of `ps` and `workers` in a folder of its own.
class Run {
 public:
  Run(JobSpec spec, fs::path folder) : spec_(std::move(spec)), folder_(std::move(folder)) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (std::int64_t i = 0; i < spec_.ps.replicas; ++i) {
      cluster_.ps.push_back("127.0.0.1:" + std::to_string(free_port()));
    }
    cluster_.worker.assign(static_cast<std::size_t>(spec_.worker.replicas), "127.0.0.1:1");
  }
  ~Run() { fs::remove_all(folder_); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Global steps per second.
  double steps_per_second() {
    std::vector<pid_t> children;
    for (std::int64_t i = 0; i < spec_.ps.replicas; ++i) children.push_back(start(Role::ps, i));
    for (std::int64_t i = 0; i < spec_.worker.replicas; ++i) {
      children.push_back(start(Role::worker, i));
    }
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      ENSURE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return rate_of_reports();
  }

 private:
  pid_t start(Role role, std::int64_t index) const {
    TaskContext context;
    context.key = {.job = JobId{"bench"}, .attempt = 1, .role = role, .index = index};
    context.token = "bench";
    context.spec = spec_;
    context.cluster = cluster_;
    if (role == Role::ps) context.listen = cluster_.ps[static_cast<std::size_t>(index)];
    const std::string name = std::string(name_of(role)) + "-" + std::to_string(index);
    context.folder = folder_ / name;
    const std::string path = folder_ / (name + ".json");
    std::ofstream(path) << to_json(context);

    std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "trainyard-runtime";
    std::string argument = path;
    char* argv[] = {program.data(), argument.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    ENSURE(::posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }

  [[nodiscard]] double rate_of_reports() const {
    std::ifstream lines(folder_ / "worker-0" / "events.jsonl");
    std::vector<RunEvent> reports;
    for (std::string line; std::getline(lines, line);) {
      auto event = parse_run_event(line, 0);
      if (event.has_value() && std::holds_alternative<MetricEvent>(event->what)) {
        reports.push_back(std::move(*event));
      }
    }
    ENSURE(reports.size() >= 3);
    // The last one comes after the final evaluation.
    const RunEvent& first = reports.front();
    const RunEvent& last = reports[reports.size() - 2];
    const auto step = [](const RunEvent& event) { return std::get<MetricEvent>(event.what).step; };
    return static_cast<double>(step(last) - step(first)) * 1000.0 /
           static_cast<double>((last.time - first.time).count);
  }

  JobSpec spec_;
  fs::path folder_;
  ClusterSpec cluster_;
};

struct Workload {
  std::string name;
  ModelSpec model;
  std::int64_t batch_size = 0;
  std::int64_t batches = 0;  // of all workers together
};

struct Setting {
  std::string name;
  Mode mode = Mode::sync;
  Strategy strategy = Strategy::parameter_server;
  std::int64_t workers = 2;

  [[nodiscard]] std::int64_t batches_per_step() const { return mode == Mode::sync ? workers : 1; }
};

JobSpec job_of(const Workload& workload, const Setting& setting) {
  const auto parsed = parse_job_spec(R"({
    "model": "mlp", "mode": "sync", "roles": {"ps": 1, "worker": 2},
    "dataset": {"name": "synthetic_digits", "train_examples": 5000, "test_examples": 100}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.model = workload.model;
  spec.mode = setting.mode;
  spec.training.strategy = setting.strategy;
  spec.training.batch_size = workload.batch_size;
  spec.training.epochs.reset();
  spec.training.max_steps = workload.batches / setting.batches_per_step();
  spec.training.optimizer.learning_rate = 0.1;
  spec.training.replicas_to_aggregate = setting.workers;
  spec.training.report_every_steps = std::max<std::int64_t>(*spec.training.max_steps / 10, 1);
  spec.training.evaluate_every_steps = INT32_MAX;
  spec.ps.replicas = setting.strategy == Strategy::local ? 0 : 1;
  spec.worker.replicas = setting.workers;
  spec.checkpoint.every_steps = 0;
  spec.checkpoint.every_seconds = 0;
  return spec;
}

std::vector<BenchResult> bench_training(const Workload& workload) {
  const std::vector<Setting> settings{
      {"one process", Mode::sync, Strategy::local, 1},
      {"1 ps 2 workers sync", Mode::sync, Strategy::parameter_server, 2},
      {"1 ps 2 workers async", Mode::async, Strategy::parameter_server, 2}};
  const fs::path folder =
      fs::temp_directory_path() / ("trainyard-bench-" + std::to_string(::getpid()));

  constexpr std::array peers{PytorchMode::one_process, PytorchMode::ddp_of_two};
  std::array<Samples, peers.size()> peer_examples;
  std::vector<Samples> steps(settings.size());
  std::vector<Samples> examples(settings.size());
  for (int i = 0; i < kRuns; ++i) {
    for (std::size_t which = 0; which < settings.size(); ++which) {
      const Setting& setting = settings[which];
      const double cpu = cpu_seconds_children();
      const double rate = Run(job_of(workload, setting), folder).steps_per_second();
      const auto per_step = static_cast<double>(setting.batches_per_step() * workload.batch_size);
      steps[which].add(rate);
      examples[which].add(rate * per_step);
      examples[which].cpu_seconds += cpu_seconds_children() - cpu;
      examples[which].units += static_cast<double>(workload.batches * workload.batch_size);
    }
    for (std::size_t which = 0; which < peers.size(); ++which) {
      const auto rate =
          pytorch_examples_per_second(peers.at(which), workload.model, workload.batch_size);
      if (rate) peer_examples.at(which).add(*rate);
    }
  }

  std::vector<BenchResult> results;
  for (std::size_t which = 0; which < settings.size(); ++which) {
    for (const bool of_examples : {false, true}) {
      BenchResult result = summary_of(of_examples ? examples[which] : steps[which]);
      result.bench = workload.name;
      result.case_name = settings[which].name;
      result.unit = of_examples ? "examples/s" : "steps/s";
      if (of_examples && which > 0) {
        result.limit = results[1].value * static_cast<double>(settings[which].workers);
        result.limit_of = "two processes without exchange";
      }
      results.push_back(result);
    }
  }
  for (std::size_t which = 0; which < peers.size(); ++which) {
    if (peer_examples.at(which).values.empty()) continue;
    BenchResult result = summary_of(peer_examples.at(which));
    result.bench = workload.name;
    result.case_name = which == 0 ? "PyTorch, one process" : "PyTorch DDP, two processes";
    result.unit = "examples/s";
    results.push_back(result);
  }
  return results;
}

ModelSpec mlp(std::vector<std::int64_t> hidden, Activation activation) {
  return {
      .name = "mlp",
      .hidden = std::move(hidden),
      .activation = activation,
      .initializer = activation == Activation::relu ? Initializer::he_normal : Initializer::normal,
      .stddev = 0.1};
}

}  // namespace

std::vector<BenchResult> bench_train_mlp() {
  return bench_training({"train_mlp", mlp({100}, Activation::sigmoid), 100, 4000});
}

std::vector<BenchResult> bench_train_big_mlp() {
  return bench_training({"train_big_mlp", mlp({2048, 2048}, Activation::relu), 128, 80});
}

}  // namespace trainyard::bench
