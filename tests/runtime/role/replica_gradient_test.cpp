// Several devices of one worker: the bytes of one model on the CPU, and what ends a step.
#include "runtime/role/replica_gradient.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>

#include "runtime/role/compute_devices.h"
#include "runtime/role/open_exchange.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

JobSpec gpu_job(std::int64_t gpus) {
  const auto job = parse_job_spec(R"({
      "model": {"name": "mlp", "hidden": [12]},
      "dataset": {"name": "synthetic_digits", "train_examples": 300, "test_examples": 10},
      "training": {"strategy": "local", "batch_size": 24, "max_steps": 5,
                   "optimizer": {"name": "momentum", "learning_rate": 0.05}},
      "roles": {"worker": {"replicas": 1, "resources": {"gpus": 1}}}})");
  REQUIRE(std::holds_alternative<JobSpec>(job));
  JobSpec spec = std::get<JobSpec>(job);
  spec.worker.resources.gpus = gpus;
  return spec;
}

// Breaks when it is told to.
class BreakingDevice : public HostDevice {
 public:
  explicit BreakingDevice(bool is_late)
      : HostDevice({.bytes = std::size_t{64} << 20, .is_late = is_late}) {}
  [[nodiscard]] const char* failure() const override { return is_broken ? "it broke" : nullptr; }
  std::atomic<bool> is_broken = false;
};

// Reads the batches of another one, unless told otherwise.
class OtherData : public Dataset {
 public:
  explicit OtherData(const Dataset& data) : data_(data) {}
  [[nodiscard]] const DataShape& shape() const override { return data_.shape(); }
  [[nodiscard]] std::int64_t size(Split split) const override { return data_.size(split); }
  std::function<Status(Batch&)> change = [](Batch&) { return ok(); };

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override {
    TRY(data_.read(selection, batch));
    return change(batch);
  }
  const Dataset& data_;
};

// A worker's parts, without its loop. No devices: the CPU.
class Bench {
 public:
  Bench(const JobSpec& spec, std::size_t devices) {
    context_.spec = spec;
    context_.key = {.job = JobId{"job"}, .attempt = 1, .role = Role::worker, .index = 0};
    context_.folder = folder_.path();
    auto opened = EventLog::open(folder_.path());
    REQUIRE(opened);
    events_.emplace(*std::move(opened));
    task_.emplace(Task{context_, *events_, cause, stop.get_token()});
    auto files = open_dataset(spec.dataset, spec.training.seed);
    REQUIRE(files);
    files_ = *std::move(files);
    REQUIRE(files_->prepare(Split::train));
    data.emplace(*files_);
    for (std::size_t i = 0; i < devices; ++i) {
      this->devices.push_back(std::make_unique<BreakingDevice>(i == 1));  // others are ahead
    }
    Device* const first = devices == 0 ? nullptr : this->devices.front().get();
    auto plan = plan_job(spec, shape_of(*files_), leaf_examples(spec), 2, first);
    REQUIRE(plan);
    plan_.emplace(*std::move(plan));
    for (std::size_t i = 1; i < devices; ++i) {
      auto model = Model::build(spec.model, plan_->data,
                                {.batch_size = plan_->leaf_examples,
                                 .seed = spec.training.seed,
                                 .device = this->devices[i].get()});
      REQUIRE(model);
      others_.push_back(*std::move(model));
    }
    auto exchange_opened = open_exchange(*task_, *plan_, {.others = others_});
    REQUIRE(exchange_opened);
    exchange = *std::move(exchange_opened);
    calls_.emplace(*task_, *plan_, *exchange);
  }

  // Its threads read the data, and the exchange has the plan.
  ~Bench() {
    gradient.reset();
    exchange.reset();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] Result<std::unique_ptr<StepGradient>> open() {
    const GradientParts parts{*task_, *plan_, *data, *calls_};
    if (devices.size() < 2) {
      return std::unique_ptr<StepGradient>(std::make_unique<ModelGradient>(parts, 0, nullptr));
    }
    TRY_ASSIGN(auto replicas, ReplicaGradient::open(parts, 0, others_));
    return std::unique_ptr<StepGradient>(std::move(replicas));
  }

  void start() {
    auto opened = open();
    REQUIRE(opened);
    gradient = *std::move(opened);
    gradient->start(1);
  }

  // Nothing: all steps are made.
  Result<bool> next_step() {
    const auto next = exchange->next();
    REQUIRE(next);
    if (next->is_over) return false;
    step = {.number = next->step};
    TRY_ASSIGN(const bool done, gradient->add_up(step));
    if (!done || !std::isfinite(step.sums.loss_sum)) return false;
    if (!step.told) TRY(calls_->tell(step.number, step.sums));
    exchange->settle(0);
    return true;
  }

  std::vector<float> train() {
    start();
    while (*next_step()) {
    }
    const std::span<const float> weights = exchange->parameters_on_host();
    return {weights.begin(), weights.end()};
  }

  FailureCause cause;
  std::stop_source stop;
  std::optional<OtherData> data;
  std::vector<std::unique_ptr<BreakingDevice>> devices;
  std::unique_ptr<StepExchange> exchange;
  WorkerStep step;
  std::unique_ptr<StepGradient> gradient;

 private:
  TempFolder folder_;
  TaskContext context_;
  std::optional<EventLog> events_;
  std::optional<Task> task_;
  std::unique_ptr<Dataset> files_;
  std::optional<JobPlan> plan_;
  std::vector<Model> others_;
  std::optional<TimedExchange> calls_;
};

}  // namespace

TEST_CASE("a worker with several devices trains to the bytes of the CPU", "[replicas][threads]") {
  for (const std::int64_t gpus : {1, 2, 3, 4}) {
    INFO(gpus << " devices");
    const std::vector<float> alone = Bench(gpu_job(gpus), 0).train();
    const std::vector<float> together =
        Bench(gpu_job(gpus), static_cast<std::size_t>(gpus)).train();
    CHECK(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("micro-batches are divided among any number of devices", "[replicas][threads]") {
  JobSpec spec = gpu_job(1);
  spec.training.global_batch_size = 35;
  spec.training.micro_batch_size = 5;
  const std::vector<float> alone = Bench(spec, 0).train();
  for (const std::size_t devices : {2, 3, 5}) {
    INFO(devices << " devices");
    const std::vector<float> together = Bench(spec, devices).train();
    CHECK(std::memcmp(alone.data(), together.data(), alone.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("more devices than there are leaves are refused", "[replicas]") {
  Bench bench(gpu_job(2), 3);
  const auto opened = bench.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error().message ==
        "a worker with 3 GPUs needs as many micro-batches in a step at least, it has 2");
}

TEST_CASE("data that cannot be read end a step of several devices as bad data",
          "[replicas][threads]") {
  std::atomic<int> reads = 0;
  Bench bench(gpu_job(3), 3);
  bench.data->change = [&](Batch&) -> Status {
    if (++reads > 7) return invalid("digits.bin: is damaged");
    return ok();
  };
  bench.start();
  Result<bool> done = true;
  while (done.has_value() && *done) done = bench.next_step();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error() == invalid("digits.bin: is damaged"));
  CHECK(bench.cause.reason() == Reason::bad_data);
}

TEST_CASE("a loss that is no number is told of the first leaf that has it", "[replicas][threads]") {
  std::string expected;
  for (const std::size_t devices : {0, 3}) {
    Bench bench(gpu_job(3), devices);
    bench.data->change = [](Batch& batch) {
      if (batch.first_position != 24 + 8) return ok();  // of the second step the second leaf
      batch.features[100] = std::nanf("");
      return ok();
    };
    bench.start();
    CHECK(*bench.next_step());
    CHECK_FALSE(*bench.next_step());
    CHECK(bench.step.number == 2);
    CHECK_FALSE(bench.step.told);
    CHECK_FALSE(bench.step.why_lost.empty());
    if (devices == 0) expected = bench.step.why_lost;
    CHECK(bench.step.why_lost == expected);
  }
}

TEST_CASE("a device that breaks is thrown on the worker's thread", "[replicas][threads]") {
  for (std::size_t broken = 0; broken < 3; ++broken) {
    Bench bench(gpu_job(3), 3);
    bench.start();
    CHECK(*bench.next_step());
    bench.devices[broken]->is_broken = true;
    CHECK_THROWS_AS(bench.next_step(), DeviceFailed);
  }
}

TEST_CASE("a worker with several devices stops when it is asked to", "[replicas][threads]") {
  Bench bench(gpu_job(2), 2);
  bench.start();
  CHECK(*bench.next_step());
  bench.stop.request_stop();
  bench.gradient->stop();
  CHECK_FALSE(*bench.next_step());
}

TEST_CASE("several GPUs of a job that an older version took are refused where they cannot work",
          "[replicas]") {
  TaskContext context;
  context.key.role = Role::worker;
  context.spec = gpu_job(2);
  context.spec.mode = Mode::async;
  const auto refused = open_compute_devices(context);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() ==
        unavailable("several GPUs of one worker with mode async are not in this version yet: use "
                    "more workers with one each"));
  context.spec.training.device = ComputeDevice::automatic;
  const auto on_cpu = open_compute_devices(context);
  REQUIRE(on_cpu);
  CHECK(on_cpu->gpus.empty());
  CHECK(on_cpu->detail == "on the CPU: " + refused.error().message);

  JobSpec spec = gpu_job(5);
  spec.training.batch_size = 24;
  const auto plan = plan_job(spec, {}, leaf_examples(spec));
  REQUIRE_FALSE(plan);
  CHECK(plan.error() ==
        invalid("training.batch_size must be a multiple of 5, the GPUs of a worker, got 24"));
}

}  // namespace trainyard::runtime
